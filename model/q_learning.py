"""Q-learning: its settings, its targets and its exploration.

Mnih et al. 2015, Human-level control through deep reinforcement learning. B batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from dataset.bounds import check, setting


@dataclass(frozen=True, kw_only=True, slots=True)
class DqnRecipe:
    """How the DQN acts and learns; rate, decay, clipping, epochs and seed are those of the section `train`."""

    fee_bps: float = setting(5.0, "cost of a trade, of what is traded", minimum=0.0, maximum=1000.0, unit="bps")
    discount: float = setting(0.99, "what a reward one candle later is worth", minimum=0.0, maximum=1.0)
    replay_capacity: int = setting(20_000, "steps that the memory holds", minimum=1, maximum=10_000_000, unit="steps")
    replay_start: int = setting(500, "random steps before the first update", minimum=1, maximum=1_000_000, unit="steps")
    replay_batch: int = setting(32, "steps an update, drawn from the memory", minimum=1, maximum=4096, unit="steps")
    learn_every: int = setting(4, "steps between two updates", minimum=1, maximum=1000, unit="steps")
    target_every: int = setting(250, "updates between two copies to the target network", minimum=1, maximum=1_000_000)
    epsilon_start: float = setting(1.0, "share of random actions at first", minimum=0.0, maximum=1.0)
    epsilon_end: float = setting(0.05, "share of random actions in the end", minimum=0.0, maximum=1.0)
    epsilon_fraction: float = setting(0.5, "share of all steps in which it falls", minimum=0.0, maximum=1.0)

    def __post_init__(self) -> None:
        check(self)
        if self.replay_start > self.replay_capacity:
            raise ValueError(f"replay_start is {self.replay_start}, expected at most {self.replay_capacity}")


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
