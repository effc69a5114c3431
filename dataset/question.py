"""A question to a model: the sample of one moment, made as the samples of a training are, without any label."""

import numpy as np

from dataset.annotations import Annotation
from dataset.config import PreprocessConfig
from dataset.observation import Market, last_close, observe
from dataset.position import flat, position_state
from dataset.windows import window_indices


def question(market: Market, time: int, config: PreprocessConfig, held: Annotation | None) -> dict[str, np.ndarray]:
    """The unscaled inputs of one sample that decides at `time` (seconds since 1970), each (1, ...) float32.

    held: the trade that is open then, whose position the sample has; flat if None.
    Raises ValueError if a stream has less history there than a training asks for.
    """
    times = np.array([time], np.int64)
    needed = max(1, int(np.ceil(config.min_history * config.seq_len)))
    for name, stream in zip(market.names, market.streams, strict=True):
        there = int((window_indices(stream, times, config.seq_len) >= 0).sum())
        if there < needed:
            raise ValueError(f"stream {name} has {there} candles of the window before this time, expected {needed}")
    arrays = observe(market, times, config.seq_len, config.book_max_age_bars)
    close = float(last_close(market.streams[0], times)[0])
    return arrays | {"position_state": position(market, time, close, held)[None].astype(np.float32)}


def position(market: Market, time: int, close: float, held: Annotation | None) -> np.ndarray:
    """(5,) as in the samples of a training: open at the entry's price, or flat."""
    if held is None:
        return flat()
    bars_held = (time - held.entry_time) / market.streams[0].step_s
    return position_state(held.direction, held.entry_price, held.stop_price, bars_held, close)


def open_trade(trades: list[Annotation], symbol: str, time: int) -> Annotation | None:
    """The annotated trade of a symbol that is open at a time, its exit included; the newest of several."""
    found = [trade for trade in trades if trade.symbol == symbol and trade.entry_time < time <= trade.exit_time]
    return max(found, key=lambda trade: trade.entry_time, default=None)


def following_prices(market: Market, time: int, relative: np.ndarray) -> list[tuple[str, int, tuple[float, ...]]]:
    """(stream, open time, (open, high, low, close, volume)) of predicted next candles (T, 5) in log terms."""
    times = np.array([time], np.int64)
    found = []
    for name, stream, values in zip(market.names, market.streams, relative, strict=True):
        last = int(stream.last_visible(times)[0])
        close = float(stream.values[last, 3])
        opened = int(stream.open_time[last]) + stream.step_s
        prices = [float(close * np.exp(value)) for value in values[:4]]
        found.append((name, opened, (*prices, float(np.expm1(values[4])))))
    return found
