"""Trades are split by time, and a sample whose labels reach a later split is purged."""

import numpy as np
import pytest

from dataset.split import split


def _samples(trades: int, reach: int = 5) -> dict[str, np.ndarray]:
    """Two samples a trade, at 100 and 150 of each trade's own thousand; labels end `reach` later."""
    trade = np.repeat(np.arange(trades), 2)
    decision = trade * 1000 + np.tile([100, 150], trades)
    return {"trade": trade, "decision_time": decision, "label_end_time": decision + reach}


def test_trades_are_split_in_order_of_time():
    part, counts = split(_samples(10), 0.7, 0.15, 0)
    assert part.tolist() == [0] * 14 + [1] * 2 + [2] * 4
    assert counts == {
        "train": 14,
        "validation": 2,
        "test": 4,
        "purged": 0,
        "trades": {"train": 7, "validation": 1, "test": 2},
    }


@pytest.mark.parametrize(
    ("reach", "embargo", "purged"),
    [
        (949, 0, []),  # the last label ends one second before the next split starts
        (950, 0, [13, 15]),
        (949, 1, [13, 15]),  # the embargo counts as part of the label
        (1000, 0, [12, 13, 14, 15]),
        (1950, 0, [11, 12, 13, 14, 15]),  # far enough to reach from the training set into the test set
    ],
)
def test_labels_that_reach_the_next_split_are_purged(reach, embargo, purged):
    part, counts = split(_samples(10, reach), 0.7, 0.15, embargo)
    assert np.flatnonzero(part == -1).tolist() == purged
    assert counts["purged"] == len(purged)


def test_a_later_sample_that_decides_early_purges_what_it_overlaps():
    arrays = _samples(10)
    arrays["decision_time"][14] = 6120  # a validation sample between the two of the last training trade
    assert np.flatnonzero(split(arrays, 0.7, 0.15, 0)[0] == -1).tolist() == [13]


@pytest.mark.parametrize(
    ("trades", "parts"),
    [(1, (1, 0, 0)), (2, (1, 1, 0)), (3, (1, 1, 1)), (4, (2, 1, 1)), (6, (4, 1, 1)), (51, (36, 7, 8))],
)
def test_every_split_has_a_trade_if_it_can(trades, parts):
    assert tuple(split(_samples(trades), 0.7, 0.15, 0)[1]["trades"].values()) == parts
