"""Small bars over classes: how often what occurs."""

from collections.abc import Sequence

from app.charts import MUTED, SMALL, Option, axis_label, base, value_axis

HEIGHT = 150


def bars(rows: Sequence[tuple[str, int]]) -> Option:
    """A bar a class, with its count on it where there is room for that."""
    few = len(rows) <= 12
    series = {
        "type": "bar",
        "data": [count for _, count in rows],
        "barWidth": "62%" if few else "78%",
        "itemStyle": {"color": MUTED, "borderRadius": [2, 2, 0, 0]},
        "label": {"show": few, "position": "top", "fontSize": SMALL, "formatter": "{c}"},
    }
    axis = {
        "type": "category",
        "data": [name for name, _ in rows],
        "axisTick": {"show": False},
        "axisLabel": axis_label(fontSize=SMALL - 1, **({"interval": 0} if few else {})),
    }
    return base(
        {"top": 18, "bottom": 2, "right": 8},
        xAxis=axis,
        yAxis=value_axis(show=not few, scale=False, minInterval=1, splitNumber=3),
        tooltip={"trigger": "item", "confine": True, "formatter": "{b}: {c}"},
        series=[series],
    )
