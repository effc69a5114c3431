"""The table of all runs: what it is filtered by, what stands in its columns, and the same as a file."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from math import ceil
from typing import Any, Final

import streamlit as st

from app.format import moment, seconds, short
from app.inert import as_csv
from app.newest import state_column
from flows.runview import RunView

HEIGHT = 247  # a row cut in half says that there are more
ADDRESS: Final = "query-params"  # where a filter's choice is kept
MIB = 2**20
TOOK = "Took, s"
FILTERS: dict[str, Callable[[RunView], str]] = {
    "Dataset": lambda view: short(view.dataset_version),
    "Kind": lambda view: str(view.params["model"]["kind"]),
    "Preset": lambda view: str(view.params["model"]["preset"]),
    "State": lambda view: view.state,
}
NUMBERS = {"Balanced accuracy, %": "%.1f", "Parameters, M": "%.2f", "Peak, MiB": "%.0f", "Predicted, MiB": "%.0f"}


def filtered(views: Sequence[RunView]) -> list[RunView]:
    """Draws the filters, whose choice is kept in the address, and returns the runs that pass them all."""
    with st.container(horizontal=True, vertical_alignment="top"):
        wanted = st.text_input("Find", placeholder="name or id", width=200, type="search", key="find", bind=ADDRESS)
        chosen = {name: choice(name, views) for name in FILTERS}
    return [view for view in views if passes(view, wanted or "", chosen)]


def choice(name: str, views: Sequence[RunView]) -> list[str]:
    """In the plural: Size and Memory have one `kind` in their address, and Streamlit would give them this list."""
    options = list(dict.fromkeys(FILTERS[name](view) for view in views))
    return st.multiselect(name, options, width=170, placeholder="all", key=f"{name.lower()}s", bind=ADDRESS)


def passes(view: RunView, wanted: str, chosen: dict[str, list[str]]) -> bool:
    known = f"{view.name} {view.run_id} {dataset(view)}".lower()
    return all(word in known for word in wanted.lower().split()) and all(
        not values or FILTERS[name](view) in values for name, values in chosen.items()
    )


def dataset(view: RunView) -> str:
    """The version and, once a run has read it, the name: the version first, so that no foreign text leads a cell."""
    name = ((view.result or {}).get("samples") or {}).get("dataset")
    return f"{short(view.dataset_version)} · {name}" if name else short(view.dataset_version)


def columns(views: Sequence[RunView]) -> dict[str, list[Any]]:
    """A column a fact; what is not known is None."""
    results = [view.result or {} for view in views]
    trained = [found.get("train") or {} for found in results]
    memory = [report.get("memory") or {} for report in trained]
    spent = [seconds(view.started_at, view.ended_at) for view in views]
    return {
        "Run": [view.name for view in views],
        "Id": [view.run_id for view in views],
        "State": [view.state for view in views],
        "Kind": [FILTERS["Kind"](view) for view in views],
        "Preset": [FILTERS["Preset"](view) for view in views],
        "Balanced accuracy, %": scaled((found.get("evaluation") or {} for found in results), "balanced_accuracy", 0.01),
        "Parameters, M": scaled(trained, "parameters", 1e6),
        "Peak, MiB": scaled(memory, "measured_bytes", MIB),
        "Predicted, MiB": scaled(memory, "predicted_bytes", MIB),
        TOOK: [None if value is None else round(value, 1) for value in spent],
        "Asked for (UTC)": [moment(view.created_at).replace(tzinfo=None) for view in views],
        "Dataset": [dataset(view) for view in views],
    }


def scaled(reports: Any, name: str, unit: float) -> list[float | None]:
    return [None if report.get(name) is None else report[name] / unit for report in reports]


def table(views: Sequence[RunView], selected: Sequence[str], on_select: Callable[[str, list[str]], None]) -> None:
    """All runs; `on_select` is told the key of the table and the ids of its rows."""
    ids = [view.run_id for view in views]
    shown = columns(views)
    shown["State"] = [[state] for state in shown["State"]]
    shown[TOOK] = [None if value is None else rounded(value) for value in shown[TOOK]]
    key = f"runs {hash(tuple(ids))}"  # a selection is row numbers: it holds for this list of runs alone
    st.dataframe(
        shown,
        hide_index=True,
        height=HEIGHT if len(views) > 6 else "auto",
        placeholder="—",
        column_config=config(),
        key=key,
        selection_mode="multi-row",
        selection_default={"selection": {"rows": [row for row, run_id in enumerate(ids) if run_id in selected]}},
        on_select=lambda: on_select(key, ids),
    )


def rounded(spent_s: float) -> timedelta:
    """To whole seconds, a longer time to whole minutes, as times are written everywhere."""
    return timedelta(seconds=ceil(spent_s)) if spent_s < 99.5 else timedelta(minutes=round(spent_s / 60))


def config() -> dict[str, Any]:
    text = {name: st.column_config.TextColumn() for name in ("Run", "Kind", "Preset", "Dataset", "Id")}
    numbers = {name: st.column_config.NumberColumn(format=shape) for name, shape in NUMBERS.items()}
    return (
        text
        | numbers
        | {
            "State": state_column(),
            # Each in a unit that fits, and sorted as the numbers that they are.
            TOOK: st.column_config.NumberColumn("Took", format="localized", alignment="right"),
            "Asked for (UTC)": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm"),
        }
    )


def export(views: Sequence[RunView]) -> str:
    return as_csv(columns(views))
