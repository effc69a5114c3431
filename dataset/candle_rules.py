"""Rules for candle files: what is refused, and what is only told (gaps, jumps, no trading)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from dataset.candles import CLOSE, Candles, from_frame, read_frame
from dataset.column_rules import number_findings, rows, time_findings
from dataset.findings import Finding, errors
from dataset.schema import CANDLE_COLUMNS

JUMP_FACTOR = 5.0  # from one close to the next: a split, a wrong symbol or a wrong decimal point


def candle_findings(path: Path, file: str) -> tuple[Candles | None, list[Finding]]:
    """The candles of a file if they can be used, and what is wrong with them.

    file: how findings name it.
    """
    try:
        frame = read_frame(path)
    except ValueError as error:
        return None, [Finding(file, None, "", "file", str(error))]
    found = list(_cell_findings(file, frame))
    if errors(found):
        return None, found
    candles = from_frame(frame, path.stem)
    found += [*_step_findings(file, candles), *_shape_findings(file, frame), *_warnings(file, candles)]
    return (None if errors(found) else candles), found


def _cell_findings(file: str, frame: pd.DataFrame) -> Iterator[Finding]:
    """Every cell by itself: a price is above 0, a volume at least 0."""
    if frame.empty:
        yield Finding(file, None, "", "empty", "holds no candle, expected at least one")
    yield from time_findings(file, frame["open_time"])
    for name in CANDLE_COLUMNS[1:]:
        yield from number_findings(file, frame[name], 0, above=name != "volume")


def _step_findings(file: str, candles: Candles) -> Iterator[Finding]:
    """Candles may not overlap: two bar sizes are mixed, one is off the grid, or the file has the wrong name."""
    step = np.diff(candles.open_time, prepend=candles.open_time[:1] - candles.step_s)
    short = step < candles.step_s
    off = _off_grid(candles)
    before_is_off = short & ~off & np.append(False, off[:-1])
    broken = (short & ~before_is_off) | np.append(before_is_off[1:], False)
    expected = f"expected {candles.step_s} s or more for {candles.timeframe}"

    def message(i: int) -> str:
        apart = f"{step[i]} s after the one before" if short[i] else f"{step[i + 1]} s before the next one"
        return f"is {apart}, {expected}"

    yield from rows(file, "open_time", "step", broken, message)


def _off_grid(candles: Candles) -> np.ndarray:
    """(N,) bool: candles that do not begin where most of the file's do, counted from the last full step."""
    begin = candles.open_time % candles.step_s
    found, counts = np.unique(begin, return_counts=True)
    return begin != found[counts.argmax()]


def _shape_findings(file: str, frame: pd.DataFrame) -> Iterator[Finding]:
    """High and low enclose open and close."""
    body = frame[["open", "close"]].to_numpy()
    high, low = frame["high"].to_numpy(), frame["low"].to_numpy()
    top, bottom = body.max(axis=1), body.min(axis=1)
    yield from rows(
        file, "high", "shape", high < np.maximum(top, low), lambda i: f"{high[i]:g} is below open, close or low"
    )
    yield from rows(file, "low", "shape", low > bottom, lambda i: f"{low[i]:g} is above open or close")


def _warnings(file: str, candles: Candles) -> Iterator[Finding]:
    """What can be true of a market but should be seen: gaps, jumps, candles without trading."""
    missing = np.diff(candles.open_time) // candles.step_s - 1
    if missing.any():
        largest = int(missing.argmax())
        message = f"{np.count_nonzero(missing)} gaps lack {missing.sum()} candles, the largest {missing[largest]}"
        yield Finding(file, largest + 3, "open_time", "gap", message, "warning")
    close = candles.values[:, CLOSE]
    factor = np.maximum(close[1:] / close[:-1], close[:-1] / close[1:])
    jumps = np.append(False, factor > JUMP_FACTOR)
    yield from rows(
        file, "close", "jump", jumps, lambda i: f"goes from {close[i - 1]:g} to {close[i]:g} in one candle", "warning"
    )
    idle = int(np.count_nonzero(candles.values[:, 4] == 0))
    if idle:
        yield Finding(file, None, "volume", "idle", f"{idle} candles have no volume", "warning")
