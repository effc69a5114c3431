"""The queue and the newest runs, as tables; a click opens a run."""

from typing import Any

import streamlit as st

from app.format import MISSING, short, took, when, within
from flows.runview import RunView

SHOWN = 8
# Words of chips are always white: these tones hold in both themes.
CHIPS = {
    "running": "#2C68D4",
    "queued": "#626B75",
    "done": "#0E7C66",
    "failed": "#C23B2E",
    "crashed": "#A3450F",
    "cancelled": "#626B75",
}


def queue(views: list[RunView]) -> None:
    waiting = sorted((view for view in views if view.state == "queued"), key=lambda view: view.place or 0)
    if not waiting:
        return
    st.subheader("Queue", anchor=False)
    st.dataframe(
        {
            "Place": [view.place for view in waiting],
            "Run": [view.name for view in waiting],
            "Id": [view.run_id for view in waiting],
            "Asked for": [when(view.created_at) for view in waiting],
        },
        hide_index=True,
        column_config={
            "Place": st.column_config.NumberColumn(width=70, alignment="left"),
            "Run": st.column_config.TextColumn(),
            "Id": st.column_config.TextColumn(),
        },
        key="queue",
    )


def table(views: list[RunView], opened: str | None) -> None:
    st.subheader("Newest runs", anchor=False)
    listed = views[:SHOWN]
    if not listed:
        st.caption("No runs yet. Start training makes the first.")
        return
    ids = [view.run_id for view in listed]
    # A selection is a row number: it holds only for this list and for the run that was shown when it was made.
    key = f"newest {ids[0]} {opened}"
    st.dataframe(
        rows(listed),
        hide_index=True,
        column_config=config(),
        key=key,
        selection_mode="single-row",
        selection_default={"selection": {"rows": [ids.index(opened)] if opened in ids else []}},
        on_select=lambda: open_run(key, ids, opened),
    )


def pick(listed: list[RunView]) -> str | None:
    """The same table without a shown run; returns the run that was clicked."""
    ids = [view.run_id for view in listed]
    event = st.dataframe(
        rows(listed),
        hide_index=True,
        column_config=config(),
        key=f"pick {ids[0]}",
        selection_mode="single-row",
        on_select="rerun",
    )
    return next((ids[row] for row in event["selection"]["rows"]), None)


def rows(listed: list[RunView]) -> dict[str, list[Any]]:
    return {
        "Run": [view.name for view in listed],
        "State": [[view.state] for view in listed],
        "Balanced accuracy (95 %)": [score(view) for view in listed],
        "Asked for": [when(view.created_at) for view in listed],
        "Took": [took(view.started_at, view.ended_at) for view in listed],
        "Dataset": [short(view.dataset_version) for view in listed],
        "Id": [view.run_id for view in listed],
    }


def config() -> dict[str, Any]:
    text = {name: st.column_config.TextColumn() for name in ("Run", "Dataset", "Id")}
    right = {name: st.column_config.TextColumn(alignment="right") for name in ("Balanced accuracy (95 %)", "Took")}
    return text | right | {"State": state_column()}


def state_column() -> Any:
    return st.column_config.MultiselectColumn(width=96, options=list(CHIPS), color=list(CHIPS.values()))


def open_run(key: str, ids: list[str], opened: str | None) -> None:
    """Shows the run that was clicked. The row selected from the start is reported as well, at times late: no click."""
    rows = st.session_state[key]["selection"]["rows"]
    if rows and ids[rows[0]] != opened:
        st.query_params["run"] = ids[rows[0]]


def score(view: RunView) -> str:
    """With its 95 % interval, once a run is judged with one."""
    if not view.result:
        return MISSING
    judged = view.result["evaluation"]
    return within(judged["balanced_accuracy"], judged.get("interval"))
