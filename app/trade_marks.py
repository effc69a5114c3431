"""A trade on the candle chart: entry, exit, stop and the moment of its decision."""

from typing import Any

from app.candles import DOWN, MARK, MUTED, STOP, UP, decimals, labels, written
from app.charts import Option
from app.dataset_reader import Window
from dataset.annotations import Annotation

LEAST_BARS = 2  # of a trade that is not selected
FAINT = 0.45  # of the trades that are not selected


def marks(window: Window, selected: Annotation | None, others: list[Annotation]) -> tuple[list[Option], list[Any]]:
    """Points and lines of the selected trade in full, and of the others in sight without words."""
    names = labels(window)
    points: list[Option] = []
    lines: list[Any] = []
    for trade in [*others, *([selected] if selected else [])]:
        chosen = trade is selected
        if drawn(window, trade, chosen):
            points += ends(window, names, trade, chosen)
            lines.append(course(window, names, trade, chosen))
            if chosen:
                lines += limits(window, names, trade)
    return points, lines


def drawn(window: Window, trade: Annotation, chosen: bool) -> bool:
    """Whether a trade is in the window, and long enough on this timeframe not to be a blot among others."""
    if not (window.holds(trade.entry_time) and window.holds(trade.exit_time)):
        return False
    return chosen or window.place(trade.exit_time) - window.place(trade.entry_time) >= LEAST_BARS


def ends(window: Window, names: list[str], trade: Annotation, chosen: bool) -> list[Option]:
    """A triangle at the entry, below a long and above a short; a hollow square at the exit."""
    long, places = trade.direction > 0, decimals(window)
    opacity = 1 if chosen else FAINT
    said = written(f"{trade.side} {trade.entry_price:,.{places}f}", position="bottom" if long else "top")
    left = written(f"exit {trade.exit_price:,.{places}f}", position="right", distance=6)
    return [
        {
            "coord": [names[window.place(trade.entry_time)], trade.entry_price],
            "symbol": "triangle",
            "symbolSize": 13,
            "symbolRotate": 0 if long else 180,
            "symbolOffset": [0, 22 if long else -22],
            "itemStyle": {"color": MARK, "opacity": opacity},
            "label": said if chosen else {"show": False},
        },
        {
            "coord": [names[window.place(trade.exit_time)], trade.exit_price],
            "symbol": "rect",
            "symbolSize": 9,
            "itemStyle": {"color": "transparent", "borderColor": MARK, "borderWidth": 2, "opacity": opacity},
            "label": left if chosen else {"show": False},
        },
    ]


def course(window: Window, names: list[str], trade: Annotation, chosen: bool) -> list[Option]:
    """From entry to exit, in the colour of its outcome."""
    style = {
        "color": UP if trade.in_profit else DOWN,
        "width": 2 if chosen else 1.5,
        "type": "solid",
        "opacity": 1 if chosen else FAINT,
    }
    start = {"coord": [names[window.place(trade.entry_time)], trade.entry_price], "lineStyle": style}
    return [start, {"coord": [names[window.place(trade.exit_time)], trade.exit_price]}]


def limits(window: Window, names: list[str], trade: Annotation) -> list[Any]:
    """The stop while the trade was open, and the last candle that its decision could see."""
    found: list[Any] = []
    if trade.stop_price is not None:
        text = written(f"stop {trade.stop_price:,.{decimals(window)}f}", STOP, position="end", distance=4)
        start = {
            "coord": [names[window.place(trade.entry_time)], trade.stop_price],
            "lineStyle": {"color": STOP, "type": [5, 3]},
            "label": text,
        }
        found.append([start, {"coord": [names[window.place(trade.exit_time)], trade.stop_price]}])
    seen = window.visible(trade.decided_at)
    if seen >= 0:
        found.append(decided(names[seen], "decided"))
    return found


def decided(name: str, text: str) -> Option:
    """A dotted line over the full height after the last candle that was seen."""
    return {
        "xAxis": name,
        "lineStyle": {"color": MUTED, "type": [2, 3]},
        "label": {"formatter": text, "fontSize": 11, "color": MUTED, "position": "end", "distance": 4},
    }
