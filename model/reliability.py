"""Whether probabilities mean what they say: how sure the answers were, against how often they were right."""

from dataclasses import dataclass

import numpy as np

BINS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Bin:
    """Answers that were about equally sure."""

    said: float  # mean probability of the chosen action
    happened: float  # share that was right
    samples: int


def reliability(chosen: np.ndarray, right: np.ndarray) -> list[Bin]:
    """Bins of equal width from chance to certainty; empty ones are left out.

    chosen: (B,) probability of the chosen action. right: (B,) bool.
    """
    edges = np.linspace(1 / 3, 1, BINS + 1)[1:-1]
    places = np.searchsorted(edges, chosen, side="right")
    return [
        Bin(said=float(chosen[held].mean()), happened=float(right[held].mean()), samples=int(held.sum()))
        for held in (places == place for place in range(BINS))
        if held.any()
    ]


def losses(probabilities: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """(B,) cross-entropy of each answer; a probability that was rounded to 0 counts as one in two million."""
    held = probabilities[np.arange(len(actual)), actual]
    return -np.log(np.maximum(held, 5e-7))
