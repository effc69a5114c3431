"""The chart of scores: each a dot on its interval, beside what it must beat and the chance line."""

from collections.abc import Sequence

from app import charts

Whisker = tuple[str, float, float, float]  # name, value, and the ends of its interval


def whiskers(rows: Sequence[Whisker], chance: float) -> charts.Option:
    """Scores in percent, each a dot on its interval: the first in colour, those it must beat grey."""
    called = [name for name, *_ in rows]
    marks: list[charts.Option] = []
    for at, (name, value, low, high) in enumerate(rows):
        paint = {"color": charts.MUTED if at else charts.ACCENT}
        marks.append(
            {
                "type": "line",
                "data": [[low, name], [high, name]] if high > low else [],
                "symbol": "rect",
                "symbolSize": [2, 9],
                "showSymbol": True,
                "lineStyle": paint | {"width": 2},
                "itemStyle": paint,
                "silent": True,
            }
        )
        marks.append(
            {
                "type": "scatter",
                "data": [[value, name]],
                "symbolSize": 10,
                "itemStyle": paint,
                "label": {
                    "show": True,
                    "position": "top" if high > low else "right",
                    "formatter": f"{value:.1f} %",
                    "fontSize": charts.SMALL,
                },
                "z": 3,
            }
        )
    marks[-1]["markLine"] = charts.rule(chance, "chance", "xAxis")
    return charts.base(
        {"left": charts.room(called), "top": 22, "bottom": 22, "right": 24, "containLabel": False},
        xAxis=charts.value_axis(
            min=0, max=100, interval=20, splitLine={"show": False}, axisLabel=charts.axis_label(formatter="{value} %")
        ),
        yAxis=charts.name_axis() | {"data": called},
        tooltip={"show": False},
        series=[*marks, charts.names(called)],
    )
