"""The interval of a score covers the truth about as often as it says, also for few samples and a perfect recall."""

import numpy as np
import pytest

from model.interval import balanced_accuracy_interval, chance, wilson
from model.metrics import balanced_accuracy


@pytest.mark.parametrize(
    ("right", "samples", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_published(right: int, samples: int, low: float, high: float) -> None:
    """Newcombe 1998, table I, method 3."""
    assert wilson(right, samples) == pytest.approx((low, high), abs=5e-5)


def test_one_action_alone_has_wilson_s_interval() -> None:
    table = np.array([[0, 0, 0], [1, 7, 0], [0, 0, 0]])
    assert balanced_accuracy_interval(table) == pytest.approx(wilson(7, 8))


def test_it_covers_the_truth_about_as_often_as_it_says() -> None:
    truth, counts, draw = np.array([0.55, 0.9, 0.7]), np.array([24, 8, 8]), np.random.default_rng(3)
    hits = 0
    for _ in range(4000):
        right = draw.binomial(counts, truth)
        table = np.diag(right)
        table[[0, 1, 2], [1, 2, 0]] += counts - right
        low, high = balanced_accuracy_interval(table) or (0, 0)
        score = balanced_accuracy(table)
        assert score is not None
        assert low <= score <= high
        hits += low <= truth.mean() <= high
    assert 0.93 <= hits / 4000 <= 0.98


def test_what_has_no_samples_has_no_interval() -> None:
    empty = np.zeros((3, 3), dtype=int)
    assert balanced_accuracy_interval(empty) is None
    assert chance(empty) is None
    assert chance(np.diag([3, 0, 1])) == 0.5
