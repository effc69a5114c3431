"""What came after a time: the labels of samples, and when the last of them was known.

Legend: B samples, T streams, N candles of the primary stream. NaN marks a label that cannot be told.
"""

import numpy as np

from dataset.candles import CLOSE, Candles
from dataset.observation import Market, last_close, relative
from dataset.pivots import next_pivots, swings
from dataset.windows import gather


def future_labels(
    market: Market, times: np.ndarray, horizon_bars: int, pivot_bars: int, pivot_levels: int, pivot_horizon_bars: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Labels of samples that decide at `times` (B,), and (B,) int64 when the last candle they use closed.

    future_prices (B,) simple return; next_candles (B, T, 5) relative as price_data; pivots (B, levels, 2).
    """
    primary = market.streams[0]
    last, close = primary.last_visible(times), last_close(primary, times)
    ahead = _ahead(primary, last, horizon_bars)
    following = [_following(candles, times) for candles in market.streams]
    found = swings(primary, pivot_bars, pivot_levels)
    labels = {
        "future_prices": gather(primary.values[:, CLOSE], ahead) / close - 1,
        "next_candles": np.stack([values for values, _ in following], axis=1),
        "pivots": next_pivots(found, last, close, pivot_horizon_bars),
    }
    furthest = np.minimum(last + max(horizon_bars, pivot_horizon_bars), len(primary.open_time) - 1)
    ends = np.stack([primary.close_time[furthest], *(end for _, end in following)])
    return {name: values.astype(np.float32) for name, values in labels.items()}, ends.max(axis=0)


def _ahead(candles: Candles, last: np.ndarray, bars: int) -> np.ndarray:
    """(B,) index of the candle `bars` after the last one; -1 beyond the end."""
    return np.where(last + bars < len(candles.open_time), last + bars, -1)


def _following(candles: Candles, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(B, 5) the candle after the last visible one, relative to the last close, and (B,) when it closed.

    In a gap there is no following candle: the place after the last visible one must be filled.
    """
    last = candles.last_visible(times)
    following = _ahead(candles, last, 1)
    joined = candles.open_time[np.maximum(following, 0)] < candles.close_time[np.maximum(last, 0)] + candles.step_s
    following = np.where(joined & (last >= 0), following, -1)
    values = relative(gather(candles.values, following), last_close(candles, times))
    return values, np.where(following >= 0, candles.close_time[following], times)
