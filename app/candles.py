"""The candle chart: hollow up, filled down, volume below, and what happened drawn on it.

Colours are middle tones that hold on a light and a dark ground; shapes and words say the same again.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from app.charts import GROUNDS, HAIR, MUTED, RULE, SMALL, Option, axis_label, base, theme
from app.dataset_reader import Window

UP, DOWN = "#12A08A", "#D8602A"
MARK, STOP = "#4C86F0", "#C8508C"
UNSEEN = "rgba(128,138,150,0.09)"
HEIGHT = 430
SHOWN = 110  # candles in sight before anybody zooms
ROOM = 66  # for the prices at the right
DAY_S = 86_400
COLUMN_AXIS = {"type": "value", "min": 0, "max": 1, "show": False}
COLUMNS = {  # unseen bars over the full height, for clicks
    "type": "bar",
    "name": "column",
    "yAxisIndex": 2,
    "encode": {"x": "time", "y": "pick"},
    "barWidth": "100%",
    "selectedMode": "single",
    "itemStyle": {"color": "rgba(0,0,0,0.001)"},
    "tooltip": {"show": False},
}


def labels(window: Window) -> list[str]:
    """A text for each candle's opening, none twice: with the year where the window is long enough to need it."""
    span = int(window.open_time[-1] - window.open_time[0])
    form = "%d %b %Y" if window.step_s >= DAY_S else "%d %b %Y %H:%M" if span > 300 * DAY_S else "%d %b %H:%M"
    return [datetime.fromtimestamp(int(time), UTC).strftime(form) for time in window.open_time]


def frame(window: Window) -> pd.DataFrame:
    """What is sent: the columns' names are what the tooltip says."""
    opens, highs, lows, closes, volumes = window.values.T
    return pd.DataFrame(
        {
            "time": labels(window),
            "open": opens,
            "close": closes,
            "low": lows,
            "high": highs,
            "volume": volumes,
            "pick": 1,
        }
    )


def chart(
    window: Window,
    table: pd.DataFrame,
    points: Sequence[Option] = (),
    lines: Sequence[Any] = (),
    areas: Sequence[Any] = (),
    more: Sequence[Option] = (),
    in_sight: int = SHOWN,
    ahead: float = 0.5,
    pick: bool = False,
) -> Option:
    """Candles with marks at points, lines and areas.

    in_sight: candles shown before anybody zooms. ahead: the share of them that is right of the middle.
    pick: a click anywhere in a candle's column selects it; `picked` reads which.
    """
    grids = [
        {"left": 2, "right": ROOM, "top": 22, "bottom": 92, "containLabel": False},
        {"left": 2, "right": ROOM, "height": 34, "bottom": 50, "containLabel": False},
    ]
    price = {
        "type": "candlestick",
        "name": "price",
        "encode": {"x": "time", "y": ["open", "close", "low", "high"], "tooltip": ["open", "high", "low", "close"]},
        "itemStyle": {
            "color": "transparent",
            "borderColor": UP,
            "color0": DOWN,
            "borderColor0": DOWN,
            "borderWidth": 1,
        },
        "markPoint": {"silent": True, "data": list(points)},
        "markLine": {"silent": True, "symbol": "none", "data": list(lines)},
        "markArea": {"silent": True, "itemStyle": {"color": UNSEEN}, "data": list(areas)},
    }
    volume = {
        "type": "bar",
        "name": "volume",
        "xAxisIndex": 1,
        "yAxisIndex": 1,
        "encode": {"x": "time", "y": "volume"},
        "itemStyle": {"color": "rgba(128,138,150,0.35)"},
        "silent": True,
    }
    first = max(0, window.middle - round((1 - ahead) * in_sight))
    shown = {"startValue": first, "endValue": min(first + in_sight, len(table) - 1)}
    return base(
        {},
        dataset={"source": table},
        xAxis=[time_axis(0), time_axis(1)],
        yAxis=[price_axis(window), {"type": "value", "gridIndex": 1, "show": False}, COLUMN_AXIS],
        series=[price, volume, *more, *([COLUMNS] if pick else [])],
        axisPointer={"link": [{"xAxisIndex": "all"}]},
        tooltip=tooltip(window),
        dataZoom=[
            {"type": "inside", "xAxisIndex": [0, 1], **shown},
            {"type": "slider", "xAxisIndex": [0, 1], "height": 18, "bottom": 8, "left": 2, "right": ROOM}
            | {"showDetail": False, "brushSelect": False, **shown},
        ],
    ) | {"grid": grids}


def time_axis(grid: int) -> Option:
    upper = grid == 0
    return {
        "type": "category",
        "gridIndex": grid,
        "axisTick": {"show": False},
        "axisLine": {"show": True, "lineStyle": {"color": RULE}},
        "axisLabel": axis_label(show=not upper),
        "axisPointer": {"label": {"show": not upper}},
        "splitLine": {"show": False},
    }


def price_axis(window: Window) -> Option:
    return {
        "type": "value",
        "position": "right",
        "scale": True,
        "splitNumber": 5,
        "boundaryGap": ["3%", "3%"],
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "axisLabel": axis_label(),
        "splitLine": {"show": True, "lineStyle": {"color": HAIR}},
    }


def tooltip(window: Window) -> Option:
    pointer = {"type": "cross", "lineStyle": {"color": MUTED}, "crossStyle": {"color": MUTED}}
    form = f"%,.{decimals(window)}f"
    return {
        "trigger": "axis",
        "confine": True,
        "transitionDuration": 0,
        "valueFormatter": form,
        "axisPointer": pointer,
    }


def decimals(window: Window) -> int:
    """As many as the symbol's own prices need, at most eight."""
    sample = window.values[-200:, :4].ravel()
    return next((places for places in range(2, 8) if (abs(sample - sample.round(places)) < 1e-9).all()), 8)


def written(text: str, color: str = MUTED, **more: Any) -> Option:
    """A label on the chart, with a halo of the ground so that it can be read over candles."""
    halo = GROUNDS[theme()]
    return {
        "show": True,
        "formatter": text,
        "fontSize": SMALL,
        "color": color,
        "textBorderColor": halo,
        "textBorderWidth": 3,
    } | more


def picked(event: Any) -> int | None:
    """The row of the sent table whose column was clicked; None when none is."""
    groups = event["selection"]["selected"] if event else []
    rows = [row for group in groups for row in group["data_indices"]]
    return rows[0] if rows else None
