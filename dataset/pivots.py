"""Swing points after Larry Williams (Long-Term Secrets to Short-Term Trading): nested highs and lows.

A level-1 high is the highest of the candles around it; a level-n high is a level n-1 high with a lower one on both
sides. A swing point is known only once its right side is there: `confirmed` is the candle that shows it.
"""

from dataclasses import dataclass

import numpy as np

from dataset.candles import HIGH, LOW, Candles


@dataclass(frozen=True, slots=True, eq=False)
class Swings:
    """Swing points of one level, in order of their candle."""

    index: np.ndarray  # (P,) candle of the extreme
    confirmed: np.ndarray  # (P,) candle that completes its right side
    price: np.ndarray  # (P,)


def swings(candles: Candles, bars: int, levels: int) -> list[Swings]:
    """Highs and lows together, one entry for each level."""
    high, low = candles.values[:, HIGH], candles.values[:, LOW]
    tops, bottoms = _first_level(high, bars), _first_level(-low, bars)
    found = []
    for _ in range(levels):
        found.append(_merge(tops, Swings(bottoms.index, bottoms.confirmed, -bottoms.price)))
        tops, bottoms = _next_level(tops), _next_level(bottoms)
    return found


def next_pivots(found: list[Swings], last: np.ndarray, close: np.ndarray, horizon: int) -> np.ndarray:
    """(B, levels, 2) next swing point after candle `last` (B,): signed log distance, bars until over the horizon.

    NaN where none is both reached and confirmed within `horizon` candles.
    """
    labels = np.full((len(last), len(found), 2), np.nan)
    for level, points in enumerate(found):
        for sample, start in enumerate(last):
            ahead = slice(*np.searchsorted(points.index, [start, start + horizon], side="right"))
            known = np.flatnonzero(points.confirmed[ahead] <= start + horizon)
            if len(known):
                index, price = points.index[ahead][known[0]], points.price[ahead][known[0]]
                labels[sample, level] = np.log(price / close[sample]), (index - start) / horizon
    return labels


def _first_level(values: np.ndarray, bars: int) -> Swings:
    """Highs above the `bars` values before them and not below those after; the first of equals counts."""
    if len(values) < 2 * bars + 1:
        return Swings(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    spans = np.lib.stride_tricks.sliding_window_view(values, 2 * bars + 1)
    middle = spans[:, bars]
    extreme = (middle > spans[:, :bars].max(axis=1)) & (middle >= spans[:, bars + 1 :].max(axis=1))
    index = np.flatnonzero(extreme) + bars
    return Swings(index, index + bars, values[index])


def _next_level(points: Swings) -> Swings:
    """The highs among highs; each is confirmed with the neighbour on its right."""
    before, middle, after = points.price[:-2], points.price[1:-1], points.price[2:]
    kept = np.flatnonzero((middle > before) & (middle >= after)) + 1
    return Swings(points.index[kept], points.confirmed[np.minimum(kept + 1, len(points.index) - 1)], points.price[kept])


def _merge(tops: Swings, bottoms: Swings) -> Swings:
    """Highs and lows in order of their candle."""
    index = np.concatenate([tops.index, bottoms.index])
    order = np.argsort(index, kind="stable")
    confirmed = np.concatenate([tops.confirmed, bottoms.confirmed])
    return Swings(index[order], confirmed[order], np.concatenate([tops.price, bottoms.price])[order])
