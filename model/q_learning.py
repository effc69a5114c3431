"""Q-learning: its targets and its exploration.

Mnih et al. 2015, Human-level control through deep reinforcement learning. B batch.
"""

import torch
from torch import Tensor

from model.dqn_recipe import DqnRecipe


def epsilon(step: int, steps: int, recipe: DqnRecipe) -> float:
    """Share of random actions at the `step`-th of all `steps` (from 0): a straight line down, then level."""
    falling = steps * recipe.epsilon_fraction
    done = min(1.0, step / falling) if falling else 1.0
    return recipe.epsilon_start + done * (recipe.epsilon_end - recipe.epsilon_start)


def td_targets(rewards: Tensor, terminated: Tensor, next_values: Tensor, discount: float) -> Tensor:
    """What the actions taken turned out to be worth; (B,).

    After a step that terminated there is nothing more to earn. One that was truncated goes on unseen, so the best of
    `next_values` (B,3) counts after it as after any other.
    """
    return rewards + discount * next_values.amax(dim=1) * (~terminated)


def taken(values: Tensor, actions: Tensor) -> Tensor:
    """Of values (B,3) those of the actions (B,); (B,)."""
    return torch.gather(values, 1, actions[:, None])[:, 0]
