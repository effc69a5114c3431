"""What can be known of a market at a time: the features of a sample, without its labels.

Legend: B times, T streams, S candles of a window, N candles of the primary stream.
Values are unscaled; NaN marks what is absent: history that is too short, gaps, no book.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dataset.book import Book, load_book
from dataset.candles import CLOSE, VOLUME, Candles, load
from dataset.features import tech_features
from dataset.market import market_features
from dataset.schema import DatasetInfo
from dataset.windows import gather, window_indices


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """The streams of one symbol, with the indicators of every candle of the first of them."""

    names: tuple[str, ...]  # T, such as "ETH/USDT 1m"
    streams: tuple[Candles, ...]  # T: the symbol's timeframes, then the reference
    tech: np.ndarray  # (N, 40)
    market: np.ndarray  # (N, 30)
    book: Book


def load_market(root: Path, info: DatasetInfo, symbol: str) -> Market:
    """Read the streams of a symbol from a validated data root, and compute the indicators.

    Raises ValueError if a stream has no complete candle.
    """
    names, streams = load_streams(root, info, symbol)
    primary, reference = streams[0], streams[-1]
    return Market(names, streams, tech_features(primary), market_features(primary, reference), load_book(root, symbol))


def load_streams(root: Path, info: DatasetInfo, symbol: str) -> tuple[tuple[str, ...], tuple[Candles, ...]]:
    """The names and candles of the streams of a symbol, T each. Raises ValueError as `load_market` does."""
    wanted = [(symbol, timeframe) for timeframe in info.timeframes] + [(info.reference, info.reference_timeframe)]
    names = tuple(" ".join(pair) for pair in wanted)
    streams = tuple(load(root, *pair) for pair in wanted)
    for name, candles in zip(names, streams, strict=True):
        if not len(candles.open_time):
            remedy = "leave its timeframe out or give its own candles"
            raise ValueError(f"stream {name} has no complete candle, expected at least one; {remedy}")
    return names, streams


def observe(market: Market, times: np.ndarray, seq_len: int, book_max_age_bars: int) -> dict[str, np.ndarray]:
    """The feature arrays of samples that decide at `times` (B,) int64, but for the position.

    price_data (B, T, S, 5), cob_data (B, S, 100), tech_data (B, 40), market_data (B, 30), all float32.
    """
    primary = market.streams[0]
    last = primary.last_visible(times)
    windows = [_price_window(candles, times, seq_len) for candles in market.streams]
    closes = gather(primary.close_time, window_indices(primary, times, seq_len))
    book = market.book.at(np.nan_to_num(closes, nan=-1).astype(np.int64), book_max_age_bars * primary.step_s)
    arrays = {
        "price_data": np.stack(windows, axis=1),
        "cob_data": book,
        "tech_data": gather(market.tech, last),
        "market_data": gather(market.market, last),
    }
    return {name: values.astype(np.float32) for name, values in arrays.items()}


def last_close(candles: Candles, times: np.ndarray) -> np.ndarray:
    """(B,) the close of the last candle that is visible at each time; NaN before the first."""
    return gather(candles.values[:, CLOSE], candles.last_visible(times))


def relative(values: np.ndarray, close: np.ndarray) -> np.ndarray:
    """OHLCV (..., 5) as log price over a close (...) and log1p of volume."""
    return np.concatenate([np.log(values[..., :VOLUME] / close[..., None]), np.log1p(values[..., VOLUME:])], axis=-1)


def _price_window(candles: Candles, times: np.ndarray, seq_len: int) -> np.ndarray:
    """(B, S, 5) the window of one stream, relative to its last visible close."""
    values = gather(candles.values, window_indices(candles, times, seq_len))
    return relative(values, last_close(candles, times)[:, None])
