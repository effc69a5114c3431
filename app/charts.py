"""Options of the page's charts: quiet axes, labels on the marks, colours that hold on a light and a dark ground."""

from collections.abc import Sequence
from typing import Any, TypeVar

import streamlit as st

Option = dict[str, Any]
Point = tuple[float, float]
T = TypeVar("T")

MUTED = "#7C8590"  # axis names and reference lines
ACCENT = "#4C86F0"
GROUNDS = {"light": "#FFFFFF", "dark": "#111417"}
INKS = {"light": "#14181D", "dark": "#DDE1E6"}
AXIS_INK = "#5A6370"  # holds on a dark ground as well, until a switched theme is drawn anew
HAIR = "rgba(128,138,150,0.18)"
RULE = "rgba(128,138,150,0.4)"
MOST_POINTS = 800  # a longer curve is thinned to about a point a pixel of its chart
SMALL = 11
NAME_WIDTH = 150  # a longer name is broken
SMOOTH = 40  # a curve as long as this is smoothed by half; a longer one more


def base(grid: Option, **parts: Any) -> Option:
    """What every chart shares. `grid` says how much room the labels need at each side."""
    return {
        "animation": False,
        "grid": {"left": 2, "right": 12, "top": 28, "bottom": 22, "containLabel": True} | grid,
        "legend": {"show": False},
        "aria": {"enabled": True},
        **parts,
    }


def axis_label(**more: Any) -> Option:
    """The writing at an axis."""
    return {"fontSize": SMALL, "hideOverlap": True} | ink() | more


def ink() -> Option:
    """The colour of small writing. The theme's own is right on a dark ground and too pale on a light one."""
    return {"color": AXIS_INK} if theme() == "light" else {}


def legend(called: Sequence[str]) -> Option:
    """Names down the right side, in this order, for curves whose ends are too close for a name each."""
    return {
        "show": True,
        "orient": "vertical",
        "right": 0,
        "top": 24,
        "itemWidth": 12,
        "itemHeight": 3,
        "icon": "rect",
        "data": list(called),
        "textStyle": {"fontSize": SMALL} | ink(),
    }


def theme() -> str:
    """`light` or `dark`, as far as the browser has told."""
    return "light" if st.context.theme.type == "light" else "dark"


def value_axis(name: str = "", **more: Any) -> Option:
    return {
        "type": "value",
        "name": name,
        "nameGap": 10,
        "nameTextStyle": {"color": MUTED, "fontSize": SMALL, "align": "left"},
        "scale": True,
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "splitLine": {"show": True, "lineStyle": {"color": HAIR}},
        "axisLabel": axis_label(),
    } | more


def bottom_axis(name: str, **more: Any) -> Option:
    centred = {"nameLocation": "middle", "nameGap": 24, "nameTextStyle": {"color": MUTED, "fontSize": SMALL}}
    return value_axis(
        name, **centred, axisLine={"show": True, "lineStyle": {"color": RULE}}, splitLine={"show": False}, **more
    )


def name_axis() -> Option:
    """Places down the left side, the first on top. `names` writes the names: an axis would write them pale."""
    return {
        "type": "category",
        "inverse": True,
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "axisLabel": {"show": False},
    }


def names(rows: Sequence[str], start: float = 0) -> Option:
    """The names left of a chart's bars, as labels of unseen marks at `start` of the value axis: in the text's colour
    of either theme."""
    return {
        "type": "scatter",
        "data": [[start, name] for name in rows],
        "encode": {"x": 0, "y": 1},
        "symbolSize": 0.1,
        "silent": True,
        "label": {
            "show": True,
            "position": "left",
            "formatter": "{@[1]}",
            "fontSize": 12,
            "lineHeight": 13,
            "align": "right",
            "width": NAME_WIDTH,
            "overflow": "break",
        },
    }


def room(rows: Sequence[str]) -> int:
    """Pixels that the names need."""
    return 12 + min(NAME_WIDTH, round(5.9 * max(map(len, rows), default=0)))


def hbar(rows: Sequence[tuple[str, float, str]], colours: Sequence[str] = ()) -> Option:
    """Horizontal bars of (name, value, text); the text stands at the end of its bar."""
    painted = [{"itemStyle": {"color": colour}} for colour in colours] or [{} for _ in rows]
    series = {
        "type": "bar",
        "data": [
            {"value": [value, name, text]} | paint for (name, value, text), paint in zip(rows, painted, strict=True)
        ],
        "encode": {"x": 0, "y": 1},
        "barWidth": 14,
        "itemStyle": {"borderRadius": [0, 2, 2, 0]},
        "label": {"show": True, "position": "right", "formatter": "{@[2]}", "fontSize": SMALL},
    }
    called = [name for name, _, _ in rows]
    return base(
        {"left": room(called), "top": 4, "bottom": 4, "right": 120, "containLabel": False},
        xAxis=value_axis(show=False, scale=False, min=0),
        yAxis=name_axis(),
        tooltip={"show": False},
        series=[series, names(called)],
    )


def line(name: str, points: Sequence[Point], width: float = 1.5, **more: Any) -> Option:
    """A curve with its name at its end."""
    return {
        "type": "line",
        "name": name,
        "data": [list(point) for point in thinned(points)],
        "showSymbol": False,
        "lineStyle": {"width": width},
        "endLabel": {"show": True, "formatter": "{a}", "fontSize": SMALL, "color": "inherit", "distance": 6},
        "labelLayout": {"moveOverlap": "shiftY"},
    } | more


def rule(value: float, text: str, axis: str) -> Option:
    """A dotted reference line with its name, for a series' `markLine`."""
    label = {"formatter": text, "color": MUTED, "fontSize": SMALL}
    label["position"] = "insideStartTop" if axis == "yAxis" else "start"  # names run downwards: their start is the top
    style = {"color": MUTED, "type": [2, 3], "width": 1}
    return {"silent": True, "symbol": "none", "data": [{axis: value, "label": label, "lineStyle": style}]}


def curves(name: str, series: Sequence[Option], last_step: float | None, **y: Any) -> Option:
    """Curves over updates; `last_step` keeps the axis still while they grow."""
    pointer = {"type": "line", "lineStyle": {"color": MUTED, "width": 1}}
    return base(
        {"right": 76},
        xAxis=bottom_axis("update", min=0, **({"max": last_step} if last_step else {})),
        yAxis=value_axis(name, boundaryGap=["0%", "6%"], **y),
        tooltip={
            "trigger": "axis",
            "confine": True,
            "transitionDuration": 0,
            "axisPointer": pointer,
            "valueFormatter": "%.3f",
        },
        series=list(series),
    )


def thinned(points: Sequence[T], most: int = MOST_POINTS) -> Sequence[T]:
    """At most so many of the points and the last, evenly taken."""
    stride = -(-len(points) // most) or 1
    kept = points[::stride]
    return [*kept, points[-1]] if points and (len(points) - 1) % stride else kept


def smoothed(points: Sequence[Point], whole: float) -> list[Point]:
    """The exponential mean of a noisy curve; the longer the `whole` of it will be, the wider."""
    keep = whole / (whole + SMOOTH)
    found: list[Point] = []
    for x, y in points:
        found.append((x, keep * found[-1][1] + (1 - keep) * y if found else y))
    return found
