"""Up to six runs side by side: their curves in one chart, what differs, and their confusions."""

from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from app import charts, confusions, differences, text_table, traces
from app.charts import Option
from app.format import several, spelled, tag
from app.traces import Traces
from flows.runview import RunView
from model.kinds import title

ADDRESS: Final = "query-params"
COLUMNS = {"loss": "loss", "balanced accuracy": "balanced_accuracy"}
MINUTE = 60.0
LONG_S = 300.0  # beyond it a time axis counts minutes
HEIGHT = 300


def name(view: RunView) -> str:
    model = view.params["model"]
    return f"{title(model['kind'], model['preset'])} {tag(view.run_id)}"


def curves(views: Sequence[RunView], found: Sequence[Traces]) -> None:
    """The chart with its switches, which live in the address."""
    with st.container(horizontal=True, vertical_alignment="center"):
        curve = choose("curve", list(COLUMNS))
        axis = choose("by", list(traces.AXES))
        log = st.toggle("Log scale", key="log", bind=ADDRESS)
        smooth = st.toggle("Smooth", value=True, key="smooth", bind=ADDRESS)
    series, unit = lines(views, found, COLUMNS[curve], axis, smooth)
    if not any(entry["data"] for entry in series):
        st.container(height=HEIGHT, border=False).caption(f"None of these runs has a {curve} yet.")
        return
    st.echarts_chart(
        chart(series, f"{curve}, %" if curve != "loss" else curve, unit, log and curve == "loss"),
        height=HEIGHT,
        key="compared",
        alt=f"{curve.capitalize()} of {len(views)} runs by {axis}",
    )
    st.caption("Thick: validation. Thin: train" + (", smoothed." if smooth else "."))


def choose(key: str, options: list[str]) -> str:
    return str(
        st.segmented_control(
            key, options, default=options[0], required=True, key=key, bind=ADDRESS, label_visibility="collapsed"
        )
    )


def lines(
    views: Sequence[RunView], found: Sequence[Traces], column: str, axis: str, smooth: bool
) -> tuple[list[Option], str]:
    """A thick line a run of its validation and a thin one of its training; equal names share a colour."""
    percent = 1.0 if column == "loss" else 100.0
    longest = max((row.get("elapsed_s", 0.0) for curves in found for row in curves["train"][-1:]), default=0.0)
    unit = {"time": "minutes" if longest > LONG_S else "seconds"}.get(axis, axis)
    scale = 1 / MINUTE if unit == "minutes" else 1.0

    def drawn(points: Sequence[charts.Point]) -> list[charts.Point]:
        return [(round(x * scale, 4), percent * y) for x, y in points]

    thick = [
        charts.line(name(view), drawn(traces.points(curves, "validation", column, axis)), 2, **THICK)
        for view, curves in zip(views, found, strict=True)
    ]
    thin = [
        charts.line(name(view), drawn(training(curves, column, axis, smooth)), **THIN)
        for view, curves in zip(views, found, strict=True)
    ]
    return thick + thin, unit


THICK: dict[str, Any] = {"emphasis": {"focus": "series"}, "endLabel": {"show": False}, "labelLayout": {}}
THIN = THICK | {"lineStyle": {"width": 1, "opacity": 0.45}, "tooltip": {"show": False}}


def training(curves: Traces, column: str, axis: str, smooth: bool) -> Sequence[charts.Point]:
    return traces.smooth(curves, column, axis) if smooth else traces.points(curves, "train", column, axis)


def chart(series: Sequence[Option], value: str, unit: str, log: bool) -> Option:
    scale: dict[str, Any] = {"type": "log"} if log else {}
    option = charts.curves(value, series, None, **scale)
    option["grid"]["right"] = 110
    option["xAxis"]["name"] = unit
    option["legend"] = charts.legend(highest_first(series))
    return option | {"media": [{"query": {"maxWidth": 420}, "option": {"grid": {"right": 96}}}]}


def highest_first(series: Sequence[Option]) -> list[str]:
    """The names of the curves in the order in which they end, from the top down."""
    ends = {curve["name"]: curve["data"][-1][1] for curve in reversed(series) if curve["data"]}
    return sorted(ends, key=lambda called: ends[called], reverse=True)


def facts(views: Sequence[RunView], found: Sequence[Traces]) -> None:
    """A column a run: what came of it, and the settings that are not the same in all."""
    apart, equal = differences.differing(views)
    st.markdown(f"**What differs** :gray[· {equal} settings are equal]")
    rows = apart | differences.outcomes(views, found)
    text_table.draw(
        [tag(view.run_id) for view in views], {label(key): values for key, values in rows.items()}, "differing"
    )


def label(key: str) -> str:
    return spelled(key.partition(".")[2]) or key


def judgements(views: Sequence[RunView]) -> None:
    """What each run said of the test samples against what they were."""
    judged = [(view, (view.result or {}).get("evaluation") or {}) for view in views]
    judged = [(view, found) for view, found in judged if found.get("confusion")]
    if not judged:
        return
    st.subheader("What they said of the test samples", anchor=False)
    confusions.tables(
        [
            confusions.matrix(found["actions"], found["confusion"], name(view), several(found["samples"], "sample"))
            for view, found in judged
        ],
        key="confusions",
    )
