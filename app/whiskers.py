"""Scores as dots on their intervals beside the chance line: the honest form of a score."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.charts import ACCENT, HAIR, MUTED, SMALL, Option, axis_label, base, name_axis, names, room, rule, value_axis
from app.format import percent

ROW_HEIGHT = 44


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A share from 0 to 1 with its 95 % interval, if one is known."""

    name: str
    value: float
    interval: tuple[float, float] | None
    ours: bool  # drawn in colour


def height(rows: Sequence[Score]) -> int:
    return 48 + ROW_HEIGHT * len(rows)


def whiskers(rows: Sequence[Score], chance: float) -> Option:
    """One row a score, the first on top."""
    lines = [span(row) for row in rows if row.interval]
    dots = {
        "type": "scatter",
        "data": [{"value": [100 * row.value, row.name, percent(row.value)], "itemStyle": style(row)} for row in rows],
        "encode": {"x": 0, "y": 1},
        "symbolSize": 10,
        "z": 3,
        "label": {"show": True, "position": "top", "formatter": "{@[2]}", "fontSize": SMALL, "distance": 3},
        "markLine": rule(100 * chance, "chance", "xAxis"),
    }
    called = [row.name for row in rows]
    across = {"data": called, "splitLine": {"show": True, "lineStyle": {"color": HAIR}}}
    return base(
        {"left": room(called), "top": 22, "bottom": 22, "right": 16, "containLabel": False},
        xAxis=value_axis(
            min=0, max=100, interval=20, splitLine={"show": False}, axisLabel=axis_label(formatter="{value} %")
        ),
        yAxis=name_axis() | across,
        tooltip={"show": False},
        series=[dots, *lines, names(called)],
    )


def span(row: Score) -> Option:
    """The interval as a bar with an end at both sides."""
    low, high = row.interval or (row.value, row.value)
    colour = style(row)["color"]
    return {
        "type": "line",
        "data": [[100 * low, row.name], [100 * high, row.name]],
        "symbol": "rect",
        "symbolSize": [2, 9],
        "showSymbol": True,
        "lineStyle": {"width": 2, "color": colour},
        "itemStyle": {"color": colour},
        "silent": True,
        "z": 2,
    }


def style(row: Score) -> Option:
    return {"color": ACCENT if row.ours else MUTED}
