"""As-of windows: the last candles of a stream that had closed at a time, on the grid of that time.

Legend: B times, S candles of a window. A missing candle leaves its place empty (index -1): nothing is shifted.
"""

import numpy as np

from dataset.candles import Candles


def window_indices(candles: Candles, times: np.ndarray, length: int) -> np.ndarray:
    """(B, S) index of the candle in each place, the newest last; -1 before the history and in gaps.

    The last place is the candle that closed within one step of the time, the place before it one step earlier.
    """
    last = candles.last_visible(times)
    near = last[:, None] - np.arange(length)[::-1]
    close = candles.close_time[np.maximum(near, 0)]
    places = length - 1 - (times[:, None] - close) // candles.step_s
    kept = (near >= 0) & (places >= 0)
    indices = np.full(near.shape, -1)
    row = np.broadcast_to(np.arange(len(times))[:, None], near.shape)
    indices[row[kept], places[kept]] = near[kept]
    return indices


def gather(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Rows of values at the indices, float64; NaN where an index is -1.

    values: (N, ...); indices: any shape; result: indices.shape + values.shape[1:].
    """
    empty = (indices < 0).reshape(indices.shape + (1,) * (values.ndim - 1))
    if not len(values):
        return np.full(indices.shape + values.shape[1:], np.nan)
    return np.where(empty, np.nan, values[indices])
