"""Writing the simulated market as a data root: the same bytes each time, with the same pyarrow."""

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dataset.parquet import utc_times, write_columns
from dataset.schema import ASK_COLUMNS, BID_COLUMNS, BOOK_BUCKETS, DatasetInfo, book_path, candle_path, write_info
from dataset.simulate import book, market
from dataset.simulate.marks import TICKS_PER_UNIT, marks
from dataset.simulate.noise import Ints
from dataset.simulate.plan import LEAD_BARS, Swing, knots, swings

SEED = 12  # neither an easy nor a hard market for the model
DAYS = 31
TRADES = 51  # with five samples each, 255
START = datetime(2025, 1, 1, tzinfo=UTC)
PRIMARY, REFERENCE = "SIM/ETH", "SIM/BTC"
INFO = DatasetInfo(
    name="Simulated market",
    simulated=True,
    primary=PRIMARY,
    reference=REFERENCE,
    timeframes=("1m", "5m", "15m", "1h"),
    reference_timeframe="1m",
)
_OPENING = {PRIMARY: 30_000, REFERENCE: 60_000}  # ticks: 3,000.0 and 60,000
_REFERENCE_SCALE = 3  # reference ticks for two of the primary's, as its price has twice the ticks and moves less


def simulate(out: Path, seed: int = SEED) -> dict[str, int]:
    """Write the simulated data root into `out`, which must be absent or empty; return the rows of each kind.

    Raises ValueError when `out` holds something already.
    """
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out} is not empty, expected a new folder for the simulated data")
    bars = DAYS * 24 * 60
    plan = swings(seed, TRADES)
    assert plan[-1].calm < bars - 300, "the last trade needs bars after it"
    primary, reference = _symbols(seed, bars, plan)
    rows = marks(seed, plan, primary, START, PRIMARY)
    bids, asks = book.sizes(seed, bars, plan, BOOK_BUCKETS)

    _write_candles(out, PRIMARY, primary, TICKS_PER_UNIT)
    _write_candles(out, REFERENCE, reference, 1)
    _write_book(out, bids, asks)
    _write_annotations(out / "annotations.csv", rows)
    write_info(out, INFO)
    return {"candles": 2 * bars, "book": len(bids), "trades": len(rows)}


def _symbols(seed: int, bars: int, plan: list[Swing]) -> tuple[dict[str, Ints], dict[str, Ints]]:
    """Both symbols' bars: a shared walk, a walk of their own, and the plan, which the reference follows first."""
    shared = market.wander(seed, 20, bars, 5)
    own, other = market.wander(seed, 21, bars, 5), market.wander(seed, 22, bars, 5)
    primary_ticks = _OPENING[PRIMARY] + shared + own + market.path(knots(plan, reference=False), bars)
    moves = shared + other + market.path(knots(plan, reference=True), bars)
    reference_ticks = _OPENING[REFERENCE] + moves * _REFERENCE_SCALE // 2
    primary = market.candles(primary_ticks, _OPENING[PRIMARY])
    reference = market.candles(reference_ticks, _OPENING[REFERENCE])
    primary["volume"] = market.volume(seed, 30, bars, 60, market.boosts(seed, 40, plan, lead=0))
    reference["volume"] = market.volume(seed, 33, bars, 25, market.boosts(seed, 41, plan, lead=LEAD_BARS))
    return primary, reference


def _write_candles(out: Path, symbol: str, bars: dict[str, Ints], ticks_per_unit: int) -> None:
    prices = {name: bars[name] / ticks_per_unit for name in ("open", "high", "low", "close")}
    columns = {"open_time": _times(len(bars["open"]), 1), **prices, "volume": bars["volume"].astype(np.float64)}
    write_columns(candle_path(out, symbol, "1m"), columns)


def _write_book(out: Path, bids: Ints, asks: Ints) -> None:
    columns: dict[str, Any] = {"time": _times(len(bids), book.EVERY_BARS)}
    for names, sizes in ((BID_COLUMNS, bids), (ASK_COLUMNS, asks)):
        columns |= {name: sizes[:, bucket].astype(np.float64) for bucket, name in enumerate(names)}
    write_columns(book_path(out, PRIMARY), columns)


def _times(count: int, every_minutes: int) -> pa.Array:
    return utc_times(int(START.timestamp()) + np.arange(count, dtype=np.int64) * every_minutes * 60)


def _write_annotations(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
