"""Split by time: whole trades to training, validation and test, and what would look across a border purged.

Purge and embargo as in Lopez de Prado, Advances in Financial Machine Learning, chapter 7.
"""

from typing import Any

import numpy as np

TRAIN, VALIDATION, TEST, PURGED = 0, 1, 2, -1
SPLITS = ("train", "validation", "test")


def split(
    arrays: dict[str, np.ndarray], train_fraction: float, validation_fraction: float, embargo_s: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """(B,) int8 with the split of each sample, and how many each one has.

    arrays: trade (B,) numbered in order of entry, decision_time and label_end_time (B,) seconds. A sample is purged
    if its last label plus the embargo reaches the first decision of a later split.
    """
    names, rank = np.unique(arrays["trade"], return_inverse=True)
    first_validation, first_test = _borders(len(names), train_fraction, validation_fraction)
    part = (rank >= first_validation).astype(np.int8) + (rank >= first_test).astype(np.int8)
    reach = arrays["label_end_time"] + embargo_s
    purged = np.zeros(len(part), bool)
    for later in (VALIDATION, TEST):
        starts = arrays["decision_time"][part == later]
        if len(starts):
            purged |= (part < later) & (reach >= starts.min())
    counts = {name: int(np.count_nonzero((part == number) & ~purged)) for number, name in enumerate(SPLITS)}
    trades = dict(zip(SPLITS, (first_validation, first_test - first_validation, len(names) - first_test), strict=True))
    result = np.where(purged, PURGED, part).astype(np.int8)
    return result, {**counts, "purged": int(purged.sum()), "trades": trades}


def _borders(trades: int, train_fraction: float, validation_fraction: float) -> tuple[int, int]:
    """The first trade of validation and of test; training has at least one, and the later ones one each if they can."""
    first_validation = max(1, round(trades * train_fraction))
    first_test = round(trades * (train_fraction + validation_fraction))
    first_validation = min(first_validation, max(1, trades - 2))
    return first_validation, min(max(first_test, first_validation + 1), max(trades - 1, first_validation + 1), trades)
