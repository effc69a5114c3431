"""Makers of small data roots: a random walk in two symbols, trades on it, and a book."""

from pathlib import Path

import numpy as np
import pandas as pd

from dataset.candles import Candles, resample, to_frame
from dataset.schema import (
    ANNOTATION_REQUIRED,
    ASK_COLUMNS,
    BID_COLUMNS,
    DatasetInfo,
    book_path,
    candle_path,
    write_info,
)

START = 1_722_470_400  # 2024-08-01T00:00:00Z
INFO = DatasetInfo(
    name="walk",
    simulated=True,
    primary="SIM/ETH",
    reference="SIM/BTC",
    timeframes=("1m", "5m", "15m"),
    reference_timeframe="1m",
)


def walk(minutes: int, seed: int = 1, start: int = START) -> Candles:
    """One-minute candles of a random walk that starts at 100."""
    random = np.random.default_rng(seed)
    close = 100 * np.exp(np.cumsum(random.normal(0, 1e-3, minutes)))
    open_ = np.append(100.0, close[:-1])
    spread = 1 + random.uniform(1e-4, 1e-3, (2, minutes))
    high, low = np.maximum(open_, close) * spread[0], np.minimum(open_, close) / spread[1]
    values = np.stack([open_, high, low, close, random.integers(1, 100, minutes).astype(float)], axis=1)
    return Candles("1m", start + 60 * np.arange(minutes), values)


def iso(seconds: int) -> str:
    """A time as annotations write it."""
    return pd.Timestamp(int(seconds), unit="s", tz="UTC").strftime("%Y-%m-%dT%H:%M:%SZ")


def trade_on(candles: Candles, entry: int, exit_: int, side: str = "long", name: str = "") -> dict[str, str]:
    """A trade from the close of one candle to the close of another."""
    price, time = candles.values[:, 3], candles.close_time
    cells = [name or f"t{entry}", "SIM/ETH", "1m", side, iso(time[entry]), repr(float(price[entry]))]
    return dict(zip(ANNOTATION_REQUIRED, [*cells, iso(time[exit_]), repr(float(price[exit_]))], strict=True))


def book_frame(candles: Candles) -> pd.DataFrame:
    """A book snapshot every five minutes, in small whole sizes."""
    times = candles.open_time[::5]
    sizes = np.random.default_rng(3).integers(0, 50, (len(times), 40))
    frame = pd.DataFrame(sizes, columns=[*BID_COLUMNS, *ASK_COLUMNS])
    frame.insert(0, "time", pd.to_datetime(times, unit="s", utc=True))
    return frame


def write_candles(root: Path, symbol: str, candles: Candles) -> None:
    """A candle file where the schema wants it."""
    path = candle_path(root, symbol, candles.timeframe)
    path.parent.mkdir(parents=True, exist_ok=True)
    to_frame(candles).to_parquet(path)


def write_trades(root: Path, rows: list[dict[str, str]]) -> None:
    """The annotation file; columns are those of the first row."""
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    (root / "annotations.csv").write_text("\n".join(lines) + "\n", "utf-8")


def write_root(root: Path, rows: list[dict[str, str]] | None = None, minutes: int = 1500) -> Candles:
    """A whole data root; returns the candles of its primary stream. The 15m candles have a file of their own."""
    root.mkdir(parents=True, exist_ok=True)
    primary = walk(minutes)
    write_info(root, INFO)
    write_candles(root, "SIM/ETH", primary)
    write_candles(root, "SIM/ETH", resample(primary, "15m"))
    write_candles(root, "SIM/BTC", walk(minutes, seed=2))
    write_trades(root, rows or [trade_on(primary, 700, 760), trade_on(primary, 900, 911, "short")])
    book_path(root, "SIM/ETH").parent.mkdir(exist_ok=True)
    book_frame(primary).to_parquet(book_path(root, "SIM/ETH"))
    return primary
