"""Memory: whether a training fits, what its peak is made of, and whether the prediction was right."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app import backend, health, peaks, survey, timeline
from app.comparison import name
from app.format import percent, several, size
from app.plans import GB
from app.survey import Asks, Choice, Plans
from flows.runview import RunView
from model.kinds import PRESETS
from model.plan import Plan
from model.verdict import needed

ORDER = ("lite", "base", "wide", "legacy")
KINDS = ("transformer", "cnn")  # the memory of a dqn depends on its episodes
LOOK_S = 1.5
HEIGHT = 300


def page() -> None:
    st.title("Memory", anchor=False)
    health.watch()
    choice = choose()
    views = backend.all_runs()
    wanted = survey.asks(choice, samples_of(views))
    waiting = survey.look(wanted)[1] > 0
    st.fragment(draw, run_every=LOOK_S if waiting else None)(choice, wanted, measured(views), waiting)
    timeline.show(views)


def choose() -> Choice:
    with st.container(horizontal=True, vertical_alignment="top"):
        kind = pick("Kind", KINDS, "transformer")
        preset = pick("Preset", [entry for entry in ORDER if entry in PRESETS[kind]], "base")
        batch = st.number_input("Batch size", 1, 512, 5, key="batch", bind="query-params", width=120)
        length = st.number_input("Sequence length", 10, 600, 200, key="length", bind="query-params", width=140)
        precision = pick("Precision", survey.PRECISIONS, "fp32")
        switch = pick("Checkpointing", ("on", "off"), "on")
    return Choice(
        kind=kind, preset=preset, batch=batch, seq_len=length, precision=precision, checkpointing=switch == "on"
    )


def pick(label: str, options: Sequence[str], default: str) -> str:
    chosen = st.segmented_control(
        label, options, default=default, required=True, key=label.lower(), bind="query-params"
    )
    return chosen if chosen in options else default


def samples_of(views: Sequence[RunView]) -> tuple[int, int] | None:
    """Those of the newest finished run, which stay on the device; a batch of each where there is none."""
    split = next((view.result["samples"]["split"] for view in views if view.result), None)
    return (int(split["train"]), int(split["validation"])) if split else None


def measured(views: Sequence[RunView]) -> list[tuple[RunView, dict[str, Any]]]:
    """The runs whose peak was both predicted and measured, with their reports of it."""
    reports = [(view, ((view.result or {}).get("train") or {}).get("memory") or {}) for view in views]
    return [(view, memory) for view, memory in reports if "measured_bytes" in memory and "predicted_bytes" in memory]


def draw(choice: Choice, wanted: Asks, runs: list[tuple[RunView, dict[str, Any]]], waiting: bool) -> None:
    """The sentence and the charts, as far as they are worked out."""
    found, missing = survey.look(wanted)
    if waiting and not missing:
        st.rerun()  # all is there: draw it once more, without a timer
    same = [memory for view, memory in runs if choice.matches(view)]
    st.subheader(sentence(choice, found["peak"].get("peak"), same), anchor=False)
    left, right = st.columns([5, 4], gap="medium")
    with left:
        st.markdown("**Peak over batch size**")
        curves("batch", found["batch"], "batch size", type="log", logBase=2, min=1, max=max(survey.BATCHES))
    with right:
        st.markdown(f"**By part at batch {choice.batch}**")
        parts(found["part"])
    left, right = st.columns([5, 4], gap="medium")
    with left:
        st.markdown(f"**Peak over sequence length at batch {choice.batch}**")
        curves("length", found["length"], "candles a stream", min=0, max=max(survey.LENGTHS))
        if missing:
            st.caption(f"{several(missing, 'plan')} to be worked out, a few seconds each.")
    with right:
        scatter(runs)


def sentence(choice: Choice, plan: Plan | None, same: Sequence[dict[str, Any]]) -> str:
    where = f"at batch {choice.batch} of {choice.seq_len} candles"
    if plan is None:
        return f"Working out the peak {where}…"
    said = f"Peak {size(plan.predicted_bytes)} predicted {where}"
    if not same:
        return f"{said}; no run has measured it yet"
    return f"{said}, {size(same[0]['measured_bytes'])} measured: error {percent(abs(same[0]['error']))}"


def curves(group: str, found: Plans, axis: str, **x: Any) -> None:
    lines: dict[str, list[tuple[float, float]]] = {}
    for (on, at), plan in found.items():
        lines.setdefault(f"checkpointing {'on' if on else 'off'}", []).append((at, needed(plan) / GB))
    if not any(len(points) > 1 for points in lines.values()):
        st.skeleton(height=HEIGHT)
        return
    st.echarts_chart(
        peaks.over(lines, axis, **x),
        height=HEIGHT,
        key=f"over {group}",
        alt=f"Predicted peak over {axis} with lines of cards",
    )


def parts(found: Plans) -> None:
    if not found:
        st.skeleton(height=HEIGHT)
        return
    named = {f"{digits}, {'on' if on else 'off'}": plan for (digits, on), plan in sorted(found.items(), reverse=True)}
    st.echarts_chart(peaks.by_part(named), height=HEIGHT - 40, key="parts", alt="Predicted peak of an update by part")
    st.caption("By number format, with checkpointing on and off.")


def scatter(runs: Sequence[tuple[RunView, dict[str, Any]]]) -> None:
    st.markdown(f"**Predicted against measured, {several(len(runs), 'run')}**")
    if not runs:
        st.caption("No run has measured its peak yet. Each training does.")
        return
    dots = [(view, memory["predicted_bytes"], memory["measured_bytes"]) for view, memory in runs]
    named = [
        (f"{name(view)}: {size(said)} predicted, {size(taken)} measured", said, taken) for view, said, taken in dots
    ]
    st.echarts_chart(
        peaks.against(named), height=HEIGHT - 40, key="against", alt="Measured over predicted peak of all runs"
    )
    worst = max(abs(said / taken - 1) for _, said, taken in dots)
    st.caption(f"The largest error is {percent(worst)}.")


page()
