"""What a model expects, drawn on the candles after the last one it saw: the next candle and the pivots."""

import numpy as np
import pandas as pd

from app.candles import MUTED, SHOWN, STOP, labels, written
from app.charts import Option
from app.dataset_reader import Window
from app.trade_marks import decided
from flows.control import Judged, Prediction

VIOLET = "#8F6FE0"
EXPECTED = {"open": "expected open", "close": "expected close", "low": "expected low", "high": "expected high"}
UNSEEN = "the model saw nothing of this"
WORD_BARS, WORD_SHARE = 9, 0.07  # what a label takes of the candles and of the prices in sight


def extended(window: Window, bars: int) -> Window:
    """The window with empty candles after its last one, so that what is expected has its place."""
    last = int(window.open_time[-1])
    times = last + window.step_s * np.arange(1, bars + 1)
    empty = np.full((bars, window.values.shape[1]), np.nan)
    return Window(
        window.timeframe,
        np.concatenate([window.open_time, times]),
        np.concatenate([window.values, empty]),
        window.middle,
    )


def with_expected(table: pd.DataFrame, window: Window, said: Prediction) -> pd.DataFrame:
    """The chart's table with the expected next candle of this timeframe in columns of its own."""
    found = next((one for one in said.next_candles if one.stream == f"{said.symbol} {window.timeframe}"), None)
    columns = {name: np.full(len(table), np.nan) for name in EXPECTED.values()}
    place = window.visible(said.time) + 1
    if found and place < len(table):
        for field, name in EXPECTED.items():
            columns[name][place] = getattr(found, field)
    return table.assign(**columns)


def candle() -> Option:
    return {
        "type": "candlestick",
        "name": "expected",
        "encode": {"x": "time", "y": list(EXPECTED.values()), "tooltip": list(EXPECTED.values())},
        "itemStyle": {
            "color": "transparent",
            "color0": VIOLET,
            "borderColor": VIOLET,
            "borderColor0": VIOLET,
            "borderWidth": 2,
        },
        "silent": True,
        "tooltip": {"show": False},
    }


def path(window: Window, said: Prediction) -> list[Option]:
    """Hollow diamonds at the expected pivots, joined in order of time from the last close that was seen."""
    if not said.pivots:
        return []
    names, seen = labels(window), max(window.visible(said.time), 0)
    ordered = sorted(said.pivots, key=lambda pivot: pivot.time)
    places = [min(max(window.place(pivot.time), seen + 1), len(names) - 1) for pivot in ordered]
    points = [[names[place], pivot.price] for place, pivot in zip(places, ordered, strict=True)]
    marked = [
        {
            "coord": points[max(group, key=lambda at: ordered[at].price)],
            "label": written(called([ordered[at].level for at in group]), VIOLET, position="top", distance=8),
        }
        for group in together(places, [pivot.price for pivot in ordered], in_sight(window, seen))
    ]
    line = {
        "type": "line",
        "name": "expected pivots",
        "data": [{"value": [names[seen], said.price], "symbol": "none"}, *points],
        "symbol": "diamond",
        "symbolSize": 11,
        "showSymbol": True,
        "showAllSymbol": True,
        "lineStyle": {"type": [2, 4], "width": 1.5, "color": VIOLET},
        "itemStyle": {"color": "transparent", "borderColor": VIOLET, "borderWidth": 2},
        "silent": True,
        "tooltip": {"show": False},
        "markPoint": {"silent": True, "symbol": "circle", "symbolSize": 1, "data": marked},
    }
    return [line]


def in_sight(window: Window, seen: int) -> float:
    """About the range of prices that the chart shows around a candle."""
    shown = window.values[max(0, seen - SHOWN) : seen + SHOWN, 1:3]
    return float(np.nanmax(shown) - np.nanmin(shown)) if np.isfinite(shown).any() else 0.0


def together(places: list[int], prices: list[float], height: float) -> list[list[int]]:
    """Marks whose words would lie on each other share a label: the places of the marks in each group."""
    groups: list[list[int]] = []
    for at, (place, price) in enumerate(zip(places, prices, strict=True)):
        near = next((group for group in groups if close(place, price, places, prices, group, height)), None)
        if near is None:
            groups.append([at])
        else:
            near.append(at)
    return groups


def close(place: int, price: float, places: list[int], prices: list[float], group: list[int], height: float) -> bool:
    return any(abs(place - places[at]) < WORD_BARS and abs(price - prices[at]) < WORD_SHARE * height for at in group)


def called(levels: list[int]) -> str:
    return f"level {levels[0]}" if len(levels) == 1 else f"levels {', '.join(map(str, sorted(levels)))}"


def unseen(window: Window, said: Prediction, rows: tuple[Judged, ...] = ()) -> tuple[list[Option], list[list[Option]]]:
    """The line of the decision, and the shade over everything after the last candle that was seen.

    `rows`: the test split, which tells of a wrong answer here.
    """
    names, seen = labels(window), max(window.visible(said.time), 0)
    label = {"show": True, "position": "insideTop", "fontSize": 11, "color": MUTED}
    area: list[Option] = [{"xAxis": names[seen], "name": UNSEEN, "label": label}, {"xAxis": names[-1]}]
    wrong = next((row for row in rows if is_wrong(row, said) and row.time == said.time), None)
    told = f"decided here: was {wrong.actual}, said {wrong.predicted}" if wrong else "decided here"
    return [decided(names[seen], told)], [area]


def is_wrong(row: Judged, said: Prediction) -> bool:
    return row.symbol == said.symbol and row.actual != row.predicted


def mistakes(window: Window, rows: tuple[Judged, ...], said: Prediction) -> list[Option]:
    """A hollow ring above each candle of the test split at which the model was wrong."""
    names, found = labels(window), []
    for row in rows:
        place = window.visible(row.time)
        if not is_wrong(row, said) or place < 0 or not window.holds(row.time):
            continue
        found.append(
            {
                "coord": [names[place], float(window.values[place, 1])],
                "symbol": "circle",
                "symbolSize": 9,
                "symbolOffset": [0, -14],
                "itemStyle": {
                    "color": "transparent",
                    "borderColor": STOP,
                    "borderWidth": 2,
                    "opacity": 1 if row.time == said.time else 0.6,
                },
                "label": {"show": False},
            }
        )
    return found
