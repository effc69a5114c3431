"""Rules for a trade against its candles: inside them, in no gap, at a price that was traded."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

from dataset.annotations import Annotation
from dataset.candles import HIGH, LOW, Candles
from dataset.findings import Finding

PRICE_TOLERANCE = 1e-6  # relative, for prices that were rounded


def trade_findings(file: str, trade: Annotation, candles: Candles, timeframe: str) -> Iterator[Finding]:
    """What is wrong with one annotation, seen beside the candles of its symbol.

    timeframe: of the primary stream, the one that annotations must be made in.
    """
    if trade.timeframe != timeframe:
        message = f"{trade.timeframe} is not the first timeframe of the dataset, expected {timeframe}"
        yield Finding(file, trade.row, "timeframe", "timeframe", message)
        return
    for name, time, price in (
        ("entry", trade.entry_time, trade.entry_price),
        ("exit", trade.exit_time, trade.exit_price),
    ):
        yield from _point_findings(file, trade.row, name, time, price, candles)


def overlap_findings(file: str, trades: list[Annotation]) -> Iterator[Finding]:
    """Trades of one symbol that are open at once are told, not refused."""
    ordered = sorted(trades, key=lambda trade: (trade.symbol, trade.entry_time))
    for first, second in pairwise(ordered):
        if first.symbol == second.symbol and second.entry_time < first.exit_time:
            message = f"starts before the trade of row {first.row} ends"
            yield Finding(file, second.row, "entry_time", "overlap", message, "warning")


def _point_findings(file: str, row: int, name: str, time: int, price: float, candles: Candles) -> Iterator[Finding]:
    """An entry or exit belongs to the candle that just closed or to the one in progress."""
    last = int(candles.last_visible(np.array([time]))[0])
    near = [index for index in (last, last + 1) if _touches(candles, index, time)]
    if not near:
        first, end = candles.open_time[0], candles.close_time[-1]
        rule = "gap" if first <= time <= end else "range"
        what = "is in a gap of the candles" if rule == "gap" else "is outside the candles"
        message = f"{_iso(time)} {what}, which run from {_iso(first)} to {_iso(end)}"
        yield Finding(file, row, f"{name}_time", rule, message)
        return
    low, high = candles.values[near, LOW].min(), candles.values[near, HIGH].max()
    if not low * (1 - PRICE_TOLERANCE) <= price <= high * (1 + PRICE_TOLERANCE):
        message = f"{price:g} was not traded at {_iso(time)}, expected {low:g} to {high:g}"
        yield Finding(file, row, f"{name}_price", "price", message)


def _touches(candles: Candles, index: int, time: int) -> bool:
    if not 0 <= index < len(candles.open_time):
        return False
    return bool(candles.open_time[index] <= time < candles.close_time[index] + candles.step_s)


def _iso(time: int) -> str:
    return datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
