"""A data root as a picture: how long trades last, when they are, which candles and books cover them.

Nothing here is needed to train: it answers whether the data is what was meant.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from dataset.annotations import Annotation, by_entry, read_annotations
from dataset.book import load_book
from dataset.candles import Candles, load, source_path
from dataset.config import PreprocessConfig
from dataset.schema import DatasetInfo, read_info, timeframe_seconds
from dataset.trade_rules import overlap_findings

LONGEST_BARS = (15, 30, 60, 120, 240)  # upper ends of the classes of holding times; what is longer has its own
DAYS_BY_DAY, DAYS_BY_WEEK = 45, 400  # spans up to which trades are counted by day and by week, else by month


def profile(root: Path, config: PreprocessConfig) -> dict[str, Any]:
    """Holding times, entries over time, overlaps and coverage, as plain values.

    Raises ValueError if the data root cannot be read, or holds no trade.
    """
    info, trades = read_info(root), by_entry(read_annotations(root)[0])
    if not trades:
        raise ValueError(f"{root.name} holds no trade, expected at least one")
    bars = [(trade.exit_time - trade.entry_time) / timeframe_seconds(info.timeframes[0]) for trade in trades]
    period, entries = over_time([trade.entry_time for trade in trades])
    return {
        "holding": holding(bars),
        "median_bars": float(np.median(bars)),
        "period": period,
        "entries": entries,
        "overlaps": len(list(overlap_findings("", trades))),
        "candles": [coverage(root, *stream) for stream in streams(info, trades)],
        "book": book_coverage(root, info, trades, config),
    }


def holding(bars: list[float]) -> list[tuple[str, int]]:
    """(class, trades) of holding times in bars of the primary stream."""
    starts = (1, *(end + 1 for end in LONGEST_BARS))
    names = [f"{start}–{end}" for start, end in zip(starts, LONGEST_BARS, strict=False)]
    places = Counter(np.searchsorted(LONGEST_BARS, bars).tolist())
    return [(name, places[place]) for place, name in enumerate([*names, f">{LONGEST_BARS[-1]}"])]


def over_time(entries: list[int]) -> tuple[str, list[tuple[str, int]]]:
    """`day`, `week` or `month`, and (start of it, trades) for each from the first to the last, empty ones too."""
    dates = [datetime.fromtimestamp(time, UTC).date() for time in entries]
    span = (max(dates) - min(dates)).days
    period = "day" if span <= DAYS_BY_DAY else "week" if span <= DAYS_BY_WEEK else "month"
    starts = {
        "day": lambda date: date,
        "week": lambda date: date - timedelta(days=date.weekday()),
        "month": lambda date: date.replace(day=1),
    }
    start = starts[period]
    counts = Counter(start(date) for date in dates)
    days = (min(dates) + timedelta(days=day) for day in range(span + 1))
    return period, [(found.isoformat(), counts[found]) for found in dict.fromkeys(start(day) for day in days)]


def streams(info: DatasetInfo, trades: list[Annotation]) -> list[tuple[str, str]]:
    """(symbol, timeframe) of every stream, the reference last."""
    symbols = sorted({info.primary, *(trade.symbol for trade in trades)})
    own = [(symbol, timeframe) for symbol in symbols for timeframe in info.timeframes]
    return list(dict.fromkeys([*own, (info.reference, info.reference_timeframe)]))


def coverage(root: Path, symbol: str, timeframe: str) -> dict[str, Any]:
    """From when to when a stream has candles, how many, and how many are missing in between."""
    candles = load(root, symbol, timeframe)
    source = source_path(root, symbol, timeframe).stem
    return {"symbol": symbol, "timeframe": timeframe, "made_from": source, **span_of(candles)}


def span_of(candles: Candles) -> dict[str, Any]:
    if not len(candles.open_time):
        return {"bars": 0, "missing": 0, "first": None, "last": None}
    expected = int(candles.close_time[-1] - candles.open_time[0]) // candles.step_s
    first, last = int(candles.open_time[0]), int(candles.close_time[-1])
    return {"bars": len(candles.open_time), "missing": expected - len(candles.open_time), "first": first, "last": last}


def book_coverage(
    root: Path, info: DatasetInfo, trades: list[Annotation], config: PreprocessConfig
) -> dict[str, int] | None:
    """Snapshots of all annotated symbols, and the trades that have a fresh one when they are decided; None: no book."""
    books = {symbol: load_book(root, symbol) for symbol in {info.primary, *(trade.symbol for trade in trades)}}
    if not any(len(book.time) for book in books.values()):
        return None
    oldest_s = config.book_max_age_bars * timeframe_seconds(info.timeframes[0])
    fresh = [books[trade.symbol].at(np.array([trade.decided_at]), oldest_s) for trade in trades]
    times = np.concatenate([book.time for book in books.values()])
    return {
        "snapshots": len(times),
        "first": int(times.min()),
        "last": int(times.max()),
        "trades": sum(not np.isnan(features).any() for features in fresh),
    }
