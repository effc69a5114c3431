"""The memory of steps taken: they enter one by one, and minibatches are drawn from it in an order the seed decides.

A step is kept as where it was seen, not as what was seen: 61 bytes instead of some thousands. C capacity, B batch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the candle it was taken at, the position before and after it, and what came of it."""

    row: int  # the next candle is the next row
    position: np.ndarray  # (5,) scaled
    action: int
    reward: float
    next_position: np.ndarray
    terminated: bool


class Replay:
    """A ring of the newest steps."""

    def __init__(self, capacity: int, seed: int) -> None:
        self.steps = {
            "row": torch.zeros(capacity, dtype=torch.int64),
            "position": torch.zeros(capacity, 5),
            "action": torch.zeros(capacity, dtype=torch.int64),
            "reward": torch.zeros(capacity),
            "next_position": torch.zeros(capacity, 5),
            "terminated": torch.zeros(capacity, dtype=torch.bool),
        }
        self.capacity, self.added = capacity, 0
        self.random = np.random.default_rng([seed, 2])

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, step: Step) -> None:
        """Keep a step; the oldest one gives way when the memory is full."""
        place = self.added % self.capacity
        for name, values in self.steps.items():
            values[place] = torch.as_tensor(getattr(step, name))
        self.added += 1

    def draw(self, count: int) -> dict[str, Tensor]:
        """So many steps at random, with repetition, every one as likely as any other; (B,…) each."""
        places = torch.from_numpy(self.random.integers(0, len(self), count))
        return {name: values[places] for name, values in self.steps.items()}

    def state(self) -> dict[str, Any]:
        """What the tensors do not say, as JSON values."""
        return {"added": self.added, "random": self.random.bit_generator.state}

    def fill(self, steps: dict[str, Tensor]) -> None:
        """Take over the steps of another memory of this capacity."""
        for name, values in steps.items():
            self.steps[name].copy_(values)

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as the memory that `state` came from would have, once its steps are taken over."""
        self.added = state["added"]
        self.random.bit_generator.state = state["random"]
