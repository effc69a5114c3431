"""Candles of one symbol and timeframe: reading, resampling and what is visible when.

Legend: N candles; times are whole seconds since 1970 UTC; values are open, high, low, close, volume.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dataset.schema import CANDLE_COLUMNS, UNIT_SECONDS, candle_path, listed, timeframe_seconds

OPEN, HIGH, LOW, CLOSE, VOLUME = range(5)


@dataclass(frozen=True, slots=True, eq=False)
class Candles:
    """Strictly increasing candles; a candle is visible only from its close time on."""

    timeframe: str
    open_time: np.ndarray  # (N,) int64
    values: np.ndarray  # (N, 5) float64

    @property
    def step_s(self) -> int:
        """Length of a candle in seconds."""
        return timeframe_seconds(self.timeframe)

    @property
    def close_time(self) -> np.ndarray:
        """(N,) int64: when each candle becomes visible."""
        return self.open_time + self.step_s

    def last_visible(self, times: np.ndarray) -> np.ndarray:
        """Index of the last candle that closed at or before each time; -1 if none had."""
        return np.searchsorted(self.close_time, times, side="right") - 1


def read_frame(path: Path, columns: tuple[str, ...] = CANDLE_COLUMNS) -> pd.DataFrame:
    """Read the named columns of a Parquet file as they are, unchecked.

    Raises ValueError if the file is missing, is no Parquet, or lacks a column.
    """
    if not path.is_file():
        raise ValueError("the file is missing, expected a Parquet file")
    try:
        table = pq.ParquetFile(path)
        missing = [name for name in columns if name not in table.schema_arrow.names]
        if missing:
            raise ValueError(f"column {missing[0]} is missing, found {listed(table.schema_arrow.names)}")
        return table.read(columns=list(columns)).to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"the file cannot be read as Parquet: {str(error).splitlines()[0]}") from None


def epoch_seconds(times: pd.Series) -> np.ndarray:
    """(N,) int64 seconds of a column of zoned times, whatever its resolution."""
    return times.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[s]").astype(np.int64)


def from_frame(frame: pd.DataFrame, timeframe: str) -> Candles:
    """Candles from a frame that passed validation."""
    values = frame[list(CANDLE_COLUMNS[1:])].to_numpy(np.float64, copy=True)
    return Candles(timeframe, epoch_seconds(frame["open_time"]), values)


def to_frame(candles: Candles) -> pd.DataFrame:
    """The frame that a candle file holds: open_time in UTC, then OHLCV."""
    frame = pd.DataFrame(candles.values, columns=list(CANDLE_COLUMNS[1:]))
    frame.insert(0, "open_time", pd.to_datetime(candles.open_time, unit="s", utc=True))
    return frame


def load(root: Path, symbol: str, timeframe: str) -> Candles:
    """Candles of a stream: from its own file, else resampled from the finest file that divides it.

    Raises ValueError if no file serves.
    """
    path = source_path(root, symbol, timeframe)
    candles = from_frame(read_frame(path), path.stem)
    return candles if path.stem == timeframe else resample(candles, timeframe)


def source_path(root: Path, symbol: str, timeframe: str) -> Path:
    """The file that serves a stream.

    Raises ValueError if none does.
    """
    own = candle_path(root, symbol, timeframe)
    if own.is_file():
        return own
    step_s = timeframe_seconds(timeframe)
    finer = [path for path in candle_files(own.parent) if step_s % timeframe_seconds(path.stem) == 0]
    if not finer:
        wanted = own.relative_to(root)
        raise ValueError(f"{wanted} is missing, expected it or a finer timeframe of {symbol} to resample")
    return min(finer, key=lambda path: timeframe_seconds(path.stem))


def candle_files(folder: Path) -> list[Path]:
    """The candle files of one symbol folder, by name; files that are no timeframe are left alone."""
    found = sorted(folder.glob("*.parquet"))
    return [path for path in found if path.stem[-1] in UNIT_SECONDS and path.stem[:-1].isdigit()]


def resample(candles: Candles, timeframe: str) -> Candles:
    """Longer candles from shorter ones, aligned to midnight UTC.

    The first and the last one are left out unless they are complete; one with a gap inside holds what is there.
    """
    step_s = timeframe_seconds(timeframe)
    bucket = candles.open_time // step_s * step_s
    starts = np.flatnonzero(np.diff(bucket, prepend=bucket[:1] - 1))
    ends = np.append(starts[1:], len(bucket)) - 1
    opens, highs, lows, closes, volumes = candles.values.T
    values = np.stack(
        [
            opens[starts],
            np.maximum.reduceat(highs, starts),
            np.minimum.reduceat(lows, starts),
            closes[ends],
            np.add.reduceat(volumes, starts),
        ],
        axis=1,
    )
    whole = np.ones(len(starts), bool)
    whole[0] = candles.open_time[0] == bucket[0]
    whole[-1] &= candles.close_time[-1] == bucket[-1] + step_s
    return Candles(timeframe, bucket[starts][whole], values[whole])
