"""Swing points by hand, after Larry Williams, and what a label may know of them."""

import numpy as np

from dataset.candles import Candles
from dataset.pivots import next_pivots, swings

#        0  1  2  3  4  5  6  7  8  9  10 11 12 13
PRICE = [5, 7, 4, 9, 3, 6, 2, 8, 6, 7, 1, 4, 2, 5]


def _candles(prices: list[int]) -> Candles:
    values = np.repeat(np.array(prices, float)[:, None], 5, axis=1)
    return Candles("1m", 60 * np.arange(len(prices)), values)


def test_levels_nest():
    first, second, third = swings(_candles(PRICE), 1, 3)
    assert first.index.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    # Highs 7 9 6 8 7 4: 9 and 8 stand out. Lows 4 3 2 6 1 2: 2 and 1 do.
    assert second.index.tolist() == [3, 6, 7, 10]
    assert second.price.tolist() == [9, 2, 8, 1]
    assert second.confirmed.tolist() == [6, 9, 10, 13]
    assert third.index.tolist() == []


def test_the_first_of_equal_extremes_counts():
    assert swings(_candles([1, 2, 2, 1, 1]), 1, 1)[0].index.tolist() == [1, 3]


def test_the_next_pivot_is_ahead_and_confirmed_inside_the_horizon():
    found = swings(_candles(PRICE), 1, 3)
    labels = next_pivots(found, np.array([4]), np.array([3.0]), 5)
    np.testing.assert_allclose(labels[0, 0], [np.log(6 / 3), 1 / 5])  # level 1: the high at 5
    np.testing.assert_allclose(labels[0, 1], [np.log(2 / 3), 2 / 5])  # level 2: the low at 6, confirmed by 9
    assert np.isnan(labels[0, 2]).all()
    assert np.isnan(next_pivots(found, np.array([4]), np.array([3.0]), 4)[0, 1]).all()  # confirmed one bar too late


def test_pivots_of_a_short_series_are_none():
    assert [len(points.index) for points in swings(_candles([1, 2, 1]), 2, 3)] == [0, 0, 0]
