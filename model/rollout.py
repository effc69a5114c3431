"""Episodes played to their end by a policy: what a trained one earns, and what chance and idleness earn there."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from model.batches import SPLITS
from model.environment import HOLD, Observation, Trading
from model.replay import Step

Policy = Callable[[Observation], int]
RANDOM_PASSES = 10  # over all episodes, so that chance has a mean


def episodes_of(episodes: Mapping[str, np.ndarray], split: str) -> list[int]:
    """The numbers of a split's episodes."""
    return [int(number) for number in np.flatnonzero(episodes["split"] == SPLITS[split])]


def advance(env: Trading, action: int) -> tuple[Step, bool]:
    """Act once; the step as the memory keeps it, and whether the episode is over."""
    row, position = env.row, env.position()
    _, reward, terminated, truncated, _ = env.step(action)
    return Step(row, position, action, reward, env.position(), terminated), terminated or truncated


def play(env: Trading, episode: int, policy: Policy, keep: Callable[[Step], None] = lambda step: None) -> float:
    """What a policy earns in an episode, in percent of the equity at its start."""
    env.reset(options={"episode": episode})
    total, over = 0.0, False
    while not over:
        step, over = advance(env, policy(env.observation()))
        keep(step)
        total += step.reward
    return total


def greedy(model: nn.Module) -> Policy:
    """Always the action of the highest value; the network is asked on the device where it is."""
    device = next(model.parameters()).device

    def act(seen: Observation) -> int:
        batch = {name: torch.from_numpy(values)[None].to(device) for name, values in seen.items()}
        with torch.no_grad():
            return int(model(batch)["q_values"].argmax())

    return act


def at_random(seed: int) -> Policy:
    """Each action as likely as any other."""
    draw = np.random.default_rng([seed, 3])
    return lambda seen: int(draw.integers(3))


def idle(seen: Observation) -> int:
    """Never trades."""
    return HOLD


def mean_return(env: Trading, policy: Policy, passes: int = 1) -> float:
    """The mean over all episodes of the environment."""
    return float(np.mean([play(env, number, policy) for _ in range(passes) for number in env.numbers]))


def returns(model: nn.Module, episodes: Mapping[str, np.ndarray], fee_bps: float, seed: int) -> dict[str, Any]:
    """By split: episodes, and the mean return in percent of the model, of chance and of never trading.

    Without episodes the means are None.
    """
    model.eval()
    found: dict[str, Any] = {}
    for split in SPLITS:
        numbers = episodes_of(episodes, split)
        row: dict[str, Any] = {"episodes": len(numbers), "dqn": None, "random": None, "hold": None}
        if numbers:
            env = Trading(episodes, numbers, fee_bps)
            row |= {"dqn": mean_return(env, greedy(model)), "hold": mean_return(env, idle)}
            row["random"] = mean_return(env, at_random(seed), RANDOM_PASSES)
        found[split] = row
    return found
