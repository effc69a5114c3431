"""Decision times: when the samples of the annotated trades decide.

One trade gives an entry, an exit, holds inside it and no-trades before it.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass

from dataset.annotations import Annotation

KINDS = ("entry", "exit", "hold", "no-trade")
ENTRY, EXIT, HOLD, NO_TRADE = range(4)
ACTIONS = ("hold", "buy", "sell")
KEEP, BUY, SELL = range(3)


@dataclass(frozen=True, slots=True)
class Moment:
    """One decision: when, for which trade, and of which kind."""

    time: int  # seconds since 1970 UTC
    trade: int  # index into the trades
    kind: int  # index into KINDS


def action(trade: Annotation, kind: int) -> int:
    """What was right to do: a long trade is bought and then sold, a short one the other way round."""
    if kind not in (ENTRY, EXIT):
        return KEEP
    return BUY if (kind == ENTRY) == (trade.direction > 0) else SELL


def moments(
    trades: list[Annotation], step_s: int, earliest: int, *, holds: int, no_trades: int, gap_bars: int
) -> list[Moment]:
    """The decisions of trades of one symbol, trade by trade: entry, exit, holds, no-trades.

    earliest: no-trades are not sought before this time; a trade that finds no room has fewer.
    """
    found = []
    taken: set[int] = set()
    busy = _merged(trades)
    for index, trade in enumerate(trades):
        found += [Moment(trade.decided_at, index, ENTRY), Moment(trade.exit_time, index, EXIT)]
        found += [Moment(time, index, HOLD) for time in _holds(trade, step_s, holds)]
        calm = _no_trades(trade, busy, gap_bars * step_s, earliest, taken, no_trades)
        found += [Moment(time, index, NO_TRADE) for time in calm]
    return found


def _holds(trade: Annotation, step_s: int, count: int) -> list[int]:
    """Times evenly spaced strictly inside a trade, at candle closes if there are enough of them."""
    length = trade.exit_time - trade.entry_time
    bars = length // step_s
    if bars > count:
        return [trade.entry_time + part * bars // (count + 1) * step_s for part in range(1, count + 1)]
    inside = {part * length // (count + 1) for part in range(1, count + 1)} - {0}
    return [trade.entry_time + offset for offset in sorted(inside)]


def _no_trades(
    trade: Annotation, busy: list[tuple[int, int]], gap_s: int, earliest: int, taken: set[int], count: int
) -> list[int]:
    """Walk back from the entry, gap by gap, to times outside every trade that no other sample has."""
    found: list[int] = []
    time = trade.entry_time - gap_s
    while len(found) < count and time >= earliest:
        place = bisect_right(busy, (time, math.inf)) - 1
        if place >= 0 and time <= busy[place][1]:
            time -= -(-(time - busy[place][0] + 1) // gap_s) * gap_s  # the first of these steps before all of it
            continue
        if time not in taken:
            found.append(time)
            taken.add(time)
        time -= gap_s
    return found


def _merged(trades: list[Annotation]) -> list[tuple[int, int]]:
    """The times in which any trade is open, ends included, as spans in order that do not touch."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted((trade.entry_time, trade.exit_time) for trade in trades):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans
