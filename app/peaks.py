"""Charts of peaks: over batch or sequence length with the sizes of cards, by part, and predicted against measured."""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import ceil
from typing import Any

from app import charts
from app.charts import MUTED, SMALL, Option, Point
from app.format import size
from app.plans import GB
from app.prediction import COLOURS, PARTS
from model.plan import Plan

CARDS_GB = (4, 6, 8, 12, 24)
BETWEEN = 24  # points drawn between two planned ones
DASHED = {"color": MUTED, "type": [4, 4], "width": 1}
Named = tuple[str, int, int]  # what a dot is, its predicted and its measured bytes


def over(lines: Mapping[str, Sequence[Point]], axis: str, **x: Any) -> Option:
    """Peaks in GiB over a setting; a dot is a plan. Between two the line is straight in the setting."""
    series = [
        part for at, (name, points) in enumerate(lines.items()) for part in (curve(name, points), planned(name, points))
    ]
    top = max((y for points in lines.values() for _, y in points), default=0.0)
    if series:
        series[0]["markLine"] = cards(top)
    shown, step = scale(top)
    option = charts.curves("GiB, with the CUDA context", series, None, min=0, max=shown, interval=step, scale=False)
    if not told_apart(lines, shown):
        for entry in series[::2]:
            entry["endLabel"] = {"show": False}
        option["legend"] = charts.legend(list(lines))
    option["xAxis"] = charts.bottom_axis(axis, **x)
    option["grid"]["right"] = 112
    option["tooltip"] = {"trigger": "item", "confine": True, "formatter": "{b}"}
    return option


def told_apart(lines: Mapping[str, Sequence[Point]], top: float) -> bool:
    """Whether each line has room for its name at its end: a label's height of about a twentieth between any two."""
    ends = [(points[-1][0], points[-1][1]) for points in lines.values() if points]
    return all(abs(low[1] - high[1]) > top / 20 for low, high in combinations(ends, 2))


def curve(name: str, points: Sequence[Point]) -> Option:
    return charts.line(name, straight(points), 2, silent=True)


def planned(name: str, points: Sequence[Point]) -> Option:
    """The dots; of the same name, so of the same colour."""
    return {
        "type": "scatter",
        "name": name,
        "data": [{"value": [x, y], "name": f"{name}, {x:g}: {size(y * GB)}"} for x, y in points],
        "symbolSize": 6,
    }


def straight(points: Sequence[Point]) -> list[Point]:
    """The points with others evenly between them, for an axis on which a straight line is bent."""
    found = list(points[:1])
    for (x0, y0), (x1, y1) in pairwise(points):
        found += [(x0 + (x1 - x0) * part / BETWEEN, y0 + (y1 - y0) * part / BETWEEN) for part in range(1, BETWEEN + 1)]
    return found


def cards(top: float) -> Option:
    """Lines of the cards up to the first that has room."""
    shown = [card for at, card in enumerate(CARDS_GB) if at == 0 or CARDS_GB[at - 1] < top]
    label = {"position": "insideStartTop", "color": MUTED, "fontSize": SMALL}
    data = [{"yAxis": card, "label": label | {"formatter": f"{card} GB card"}, "lineStyle": DASHED} for card in shown]
    return {"silent": True, "symbol": "none", "data": data}


def scale(top: float) -> tuple[float, float]:
    """The end of an axis that shows the next card above the curves, and its steps."""
    last = next((card for card in CARDS_GB if card >= top), top)
    step = 1 if last <= 4 else 2 if last <= 12 else 4 if last <= 24 else 2 ** ceil(last / 8).bit_length()
    return step * (int(last // step) + 1), step


def by_part(plans: Mapping[str, Plan]) -> Option:
    """A stack of parts for each named plan, in MiB, its total at the end."""
    called = list(plans)
    series: list[Option] = [
        {
            "type": "bar",
            "stack": "peak",
            "name": name,
            "data": [[round(getattr(entry, part) / 2**20, 1), label] for label, entry in plans.items()],
            "barWidth": 18,
            "itemStyle": {"color": colour},
        }
        for (part, name), colour in zip(PARTS.items(), COLOURS, strict=True)
    ]
    totals = [[round(entry.update_bytes / 2**20, 1), label, size(entry.update_bytes)] for label, entry in plans.items()]
    text = {"show": True, "position": "right", "formatter": "{@[2]}", "fontSize": SMALL}
    series.append({"type": "scatter", "data": totals, "symbolSize": 0.1, "silent": True, "label": text})
    key = {"show": True, "left": 0, "top": 0, "icon": "rect", "itemWidth": 10, "itemHeight": 10, "itemGap": 14}
    return charts.base(
        {"left": charts.room(called), "top": 30, "bottom": 24, "right": 64, "containLabel": False},
        legend=key | {"padding": 0, "textStyle": {"fontSize": SMALL}, "data": list(PARTS.values())},
        media=[{"query": {"maxWidth": 420}, "option": {"grid": {"top": 52}}}],
        tooltip={"trigger": "item", "formatter": "{a}: {@[0]} MiB"},
        xAxis=charts.value_axis(scale=False, min=0, axisLabel=charts.axis_label(formatter="{value} MiB")),
        yAxis=charts.name_axis() | {"data": called},
        series=[*series, charts.names(called)],
    )


def against(dots: Sequence[Named]) -> Option:
    """Predicted against measured in MiB: on the thin diagonal both are equal."""
    data: list[Any] = [
        {"value": [round(predicted / 2**20, 1), round(measured / 2**20, 1)], "name": name}
        for name, predicted, measured in dots
    ]
    most = max((max(point["value"]) for point in data), default=1.0)
    step = 10 ** (len(str(int(most))) - 1)
    end = step * (int(most // step) + 1)
    diagonal = {
        "silent": True,
        "symbol": "none",
        "lineStyle": {"color": MUTED, "type": "solid", "width": 1},
        "label": {"show": False},
        "data": [[{"coord": [0, 0]}, {"coord": [end, end]}]],
    }
    series = {"type": "scatter", "data": data, "symbolSize": 8, "itemStyle": {"opacity": 0.8}, "markLine": diagonal}
    return charts.base(
        {"right": 24},
        xAxis=charts.bottom_axis("predicted, MiB", min=0, max=end),
        yAxis=charts.value_axis("measured, MiB", min=0, max=end),
        tooltip={"trigger": "item", "confine": True, "formatter": "{b}"},
        series=[series],
    )
