"""What memory a run held as it trained, beside the peak that was predicted for it."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

import streamlit as st

from app import backend, charts
from app.charts import MOST_POINTS, Option, Point
from app.comparison import name
from app.format import percent, plain, size
from app.live import ACTIVE
from flows.runview import RunView

RUN = "run"  # of the address
MIB = 2**20
HEIGHT = 260
LOOK_S = 4  # at a run that goes on
HELD, PEAK = "held", "most so far"
IN_PROCESS = (
    "Held: the memory of the process above what it held before the training, PyTorch's own buffers included. "
    "Tensors: what the prediction is of, counted in the first updates."
)
ON_CARD = "Held: what the card's allocator has handed out after an update; at most: within updates."


def show(views: Sequence[RunView]) -> None:
    """The chart of the run that the address names, else of the newest that has begun."""
    st.markdown("**Measured over a run**")
    begun = [view for view in views if view.started_at]
    if not begun:
        st.caption("No run has measured its memory yet. Each training does.")
        return
    wanted = st.query_params.get(RUN)
    at = next((place for place, view in enumerate(begun) if view.run_id == wanted), 0)
    key = f"measured run {begun[at].run_id}"
    view = st.selectbox("Run", begun, index=at, format_func=title, key=key, width=360, on_change=lambda: choose(key))
    st.fragment(draw, run_every=LOOK_S if view.state in ACTIVE else None)(view)


def choose(key: str) -> None:
    st.query_params[RUN] = st.session_state[key].run_id


def title(view: RunView) -> str:
    return f"{name(view)} · {view.state}"


def draw(view: RunView) -> None:
    rows, planned = backend.memory(view.run_id, MOST_POINTS)
    if not rows:
        st.caption(absence(view))
        return
    report = ((view.result or {}).get("train") or {}).get("memory") or {}
    known = {"predicted_bytes": planned} | report
    left, right = st.columns([5, 4], gap="medium")
    with left:
        st.echarts_chart(
            chart(rows, known["predicted_bytes"]),
            height=HEIGHT,
            key="timeline",
            alt=f"Memory of {name(view)} over updates in MiB, beside the predicted peak",
        )
    with right:
        st.table(facts(rows, known), border="horizontal")
        st.caption(plain(ON_CARD if "reserved_bytes" in rows[0] else IN_PROCESS))


def facts(rows: Sequence[dict[str, str]], known: dict[str, Any]) -> dict[str, str]:
    """The peaks beside each other; what is not known is left out."""
    found = {
        "Tensors, predicted": known["predicted_bytes"],
        "Tensors, measured": known.get("measured_bytes"),
        "Held at most": int(rows[-1]["peak_bytes"]),
        "Kept by the allocator": int(rows[-1].get("reserved_bytes") or 0) or None,
    }
    said = {label: size(value) for label, value in found.items() if value is not None}
    return said | ({"Error": percent(abs(known["error"]))} if known.get("error") is not None else {})


def absence(view: RunView) -> str:
    if ("train", "cached") in [(stage, state) for stage, state, _ in view.stages]:
        return "This run took its training from the cache, so it measured nothing itself."
    return "The training has not begun." if view.state in ACTIVE else "This run kept no memory of its training."


def chart(rows: Sequence[dict[str, str]], predicted: int | None) -> Option:
    """What was held after an update and the most so far, in MiB; dotted, the peak that was predicted."""
    lines = [
        charts.line(HELD, points(rows, "held_bytes"), 1.5, step="end"),
        charts.line(PEAK, points(rows, "peak_bytes"), 2, step="end"),
    ]
    highest = [max(y for _, y in line["data"]) for line in lines]
    if predicted is not None:
        lines[0]["markLine"] = charts.rule(predicted / MIB, f"predicted peak {size(predicted)}", "yAxis")
        highest.append(predicted / MIB)
    top, step = scale(1.05 * max(highest))
    option = charts.curves("MiB", lines, None, min=0, max=top, interval=step, scale=False)
    option["tooltip"]["valueFormatter"] = "%,.1f"
    return option


def scale(top: float) -> tuple[float, float]:
    """The end of an axis with room for `top`, and its steps, of which it is a multiple: no odd number at the end."""
    least = max(top, 1.0) / 5
    power = 10.0 ** floor(log10(least))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= least)
    return step * ceil(max(top, 1.0) / step), step


def points(rows: Sequence[dict[str, str]], column: str) -> list[Point]:
    return [(float(row["step"]), round(float(row[column]) / MIB, 2)) for row in rows if row.get(column)]
