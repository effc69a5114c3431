"""Windows hold the candles that had closed, each in its own place; gaps and missing history stay empty."""

import numpy as np
from data_root import START, walk

from dataset.candles import Candles, resample
from dataset.windows import gather, window_indices


def _without(candles: Candles, *rows: int) -> Candles:
    kept = np.setdiff1d(np.arange(len(candles.open_time)), rows)
    return Candles(candles.timeframe, candles.open_time[kept], candles.values[kept])


def test_a_candle_is_visible_from_its_close_on():
    candles = walk(10)
    times = np.array([START + 59, START + 60, START + 119, START + 120])
    assert candles.last_visible(times).tolist() == [-1, 0, 0, 1]
    assert window_indices(candles, times, 2).tolist() == [[-1, -1], [-1, 0], [-1, 0], [0, 1]]


def test_a_longer_candle_is_not_visible_while_it_is_open():
    hours = resample(walk(180), "1h")
    assert window_indices(hours, np.array([START + 7199, START + 7200]), 2).tolist() == [[-1, 0], [0, 1]]


def test_a_gap_stays_empty_and_shifts_nothing():
    candles = _without(walk(10), 4, 5)
    assert window_indices(candles, candles.close_time[[5]], 6).tolist() == [[2, 3, -1, -1, 4, 5]]


def test_a_decision_inside_a_gap_has_an_empty_last_place():
    candles = _without(walk(10), 4, 5)
    assert window_indices(candles, np.array([START + 60 * 5]), 3).tolist() == [[2, 3, -1]]


def test_gaps_by_hand_over_many_windows():
    # 500 candles without 100-104 and 300: a window of 10 that ends at candle e crosses a gap if it holds a missing one.
    candles = _without(walk(500), *range(100, 105), 300)
    ends = START + 60 * np.arange(10, 501)
    holes = (window_indices(candles, ends, 10) < 0).any(axis=1)
    assert holes.sum() == 14 + 10


def test_gather_leaves_empty_places_nan():
    values = gather(np.array([[1.0], [2.0]]), np.array([[-1, 1]]))
    np.testing.assert_array_equal(values, [[[np.nan], [2.0]]])


def test_resampling_leaves_out_what_is_not_complete():
    candles = _without(walk(16), 0, 7)
    longer = resample(candles, "5m")
    assert longer.open_time.tolist() == [START + 300, START + 600]
    inside = candles.values[4:8]  # minutes 5, 6, 8, 9: the gap at 7 stays a gap
    expected = [inside[0, 0], inside[:, 1].max(), inside[:, 2].min(), inside[-1, 3], inside[:, 4].sum()]
    assert longer.values[0].tolist() == expected
