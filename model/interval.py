"""How sure a score is: the 95 % interval of the balanced accuracy, from the confusion alone.

Each recall gets Wilson's interval, which stays sensible for few samples and for a recall of 1, where a bootstrap has no
width at all; the mean of the independent recalls combines them by the method of variance estimates recovery (Zou and
Donner 2008, "Construction of confidence limits about effect measures"). Samples count as independent; those of one
trade are not quite, so the truth is a little wider.
"""

import math

import numpy as np

Z95 = 1.959963984540054  # the normal quantile of 97.5 %


def wilson(right: int, samples: int) -> tuple[float, float]:
    """Wilson's score interval of a share; `samples` is at least 1."""
    share, spread = right / samples, Z95**2 / samples
    centre = share + spread / 2
    half = math.sqrt(Z95**2 * share * (1 - share) / samples + spread**2 / 4)
    return max(0.0, (centre - half) / (1 + spread)), min(1.0, (centre + half) / (1 + spread))


def balanced_accuracy_interval(table: np.ndarray) -> tuple[float, float] | None:
    """The interval of the mean recall of the actions that have samples; None without samples.

    `table` (3,3): rows are actual actions, columns predicted ones.
    """
    counts = [(int(row[i]), int(row.sum())) for i, row in enumerate(table) if row.sum()]
    if not counts:
        return None
    shares, limits = [right / n for right, n in counts], [wilson(right, n) for right, n in counts]
    below = math.hypot(*(share - low for share, (low, _) in zip(shares, limits, strict=True)))
    above = math.hypot(*(high - share for share, (_, high) in zip(shares, limits, strict=True)))
    mean, n = sum(shares) / len(shares), len(shares)
    return max(0.0, mean - below / n), min(1.0, mean + above / n)


def chance(table: np.ndarray) -> float | None:
    """The balanced accuracy of any rule that does not look: one over the actions that have samples."""
    actions = int(sum(row.sum() > 0 for row in table))
    return 1 / actions if actions else None
