"""What takes disk and may go: the plan with its reasons, and its carrying out after a question."""

import re
from collections import defaultdict

import streamlit as st

from app import charts, pressed
from app.format import plain, several, size, spoken, tag
from app.orders import REFUSALS
from flows import control
from flows.control import Pruned, PruneItem, PrunePlan
from flows.errors import classify

ASKED = "removing is asked for"
PROTECTED, FREE = "#7C8590", "#C9781F"  # grey: kept; amber: what can be freed
ONE_RUN, ONE_VERSION = re.compile(r"run \d{8}-\d{6}-[0-9a-f]{6}"), re.compile(r"version \d+ of \S+")
PLACES = {"run": "run", "mlflow": "MLflow", "copy": "copies", "leftover": "left over", "dvc": "DVC cache"}
TABLE_HEIGHT = 282
ROW_HEIGHT = 28


@st.cache_data(ttl=10, show_spinner=False)
def plan() -> PrunePlan | str:
    """The plan, or the sentence that says why there is none."""
    try:
        return control.prune_plan()
    except REFUSALS as error:
        return classify(error).message


def section() -> None:
    with st.spinner("Looking at checkpoints"):
        found = plan()
    if isinstance(found, str):
        st.subheader("Checkpoints", anchor=False)
        st.warning(f"What may go cannot be told now: {spoken(found)}. Nothing is removed.")
        return
    going = sum(item.goes for item in found.items)
    kept = size(found.free_bytes + found.kept_bytes)
    st.subheader(f"Checkpoints and caches: {kept}, {freed(found, going)}", anchor=False)
    if not found.items:
        st.caption("There is nothing yet: a training leaves its checkpoints here.")
        return
    left, right = st.columns([5, 4], gap="medium")
    with left:
        rows, colours = bars(found.items)
        st.echarts_chart(
            charts.hbar(rows, colours),
            height=16 + ROW_HEIGHT * len(rows),
            key="bytes",
            alt="Bytes by what protects them or lets them go",
        )
    with right:
        if st.button(f"Remove {several(going, 'item')}", disabled=not going, key="remove"):
            st.session_state[ASKED] = found
            st.rerun()
        notes = "".join(f" {plain(note)}." for note in found.notes)
        st.caption(f"{outlook(found, going)} The budget for all of it is {size(found.budget_bytes)}.{notes}")
    table(found.items)


def outlook(found: PrunePlan, going: int) -> str:
    if not going:
        return "Nothing may go: all is protected."
    if not found.free_bytes:
        return "Their bytes have other names that stay, so this frees none of them yet. Asks once."
    return f"Frees {size(found.free_bytes)}. Asks once."


def freed(found: PrunePlan, going: int) -> str:
    if found.free_bytes or not going:
        return f"{size(found.free_bytes)} can be freed" if going else "nothing can be freed"
    return f"{several(going, 'item')} can go, no bytes yet"


def bars(items: tuple[PruneItem, ...]) -> tuple[list[tuple[str, int, str]], list[str]]:
    """Bytes by reason, what is kept first; amber is what can go."""
    sums: dict[tuple[bool, str], int] = defaultdict(int)
    for item in items:
        sums[item.goes, reason(item)] += item.bytes
    sums = {entry: total for entry, total in sums.items() if total} or sums  # what is empty says nothing
    order = sorted(sums, key=lambda entry: (entry[0], -sums[entry]))
    rows = [(why, sums[goes, why], f"{size(sums[goes, why])} {'can go' if goes else 'kept'}") for goes, why in order]
    return rows, [FREE if goes else PROTECTED for goes, _ in order]


def reason(item: PruneItem) -> str:
    """Why, without the name of the one run or version that it is about."""
    return ONE_VERSION.sub("a registered version", ONE_RUN.sub("a run", item.why))


def table(items: tuple[PruneItem, ...]) -> None:
    listed = sorted(items, key=lambda item: (not item.goes, -item.bytes))
    st.dataframe(
        {
            "What": [item.name for item in listed],
            "Of": [f"run {tag(item.run_id)}" if item.run_id else PLACES.get(item.place, "") for item in listed],
            "Size": [size(item.bytes) for item in listed],
            "Plan": ["remove" if item.goes else "keep" for item in listed],
            "Why": [item.why for item in listed],
        },
        hide_index=True,
        height=TABLE_HEIGHT if len(listed) > 7 else "auto",
        column_config={
            "What": st.column_config.TextColumn(width=240),
            "Of": st.column_config.TextColumn(width=80),
            "Size": st.column_config.TextColumn(alignment="right", width=75),
            "Plan": st.column_config.TextColumn(width=70),
            "Why": st.column_config.TextColumn(width=560),
        },
        key="plan",
    )


def ask() -> None:
    if (found := st.session_state.pop(ASKED, None)) is not None:
        confirm(found)


@st.dialog("Remove what is not protected?")
def confirm(found: PrunePlan) -> None:
    going = [item for item in found.items if item.goes]
    kept = len(found.items) - len(going)
    st.markdown(
        f"{several(len(going), 'item')} of {size(found.free_bytes)} are removed for good. {several(kept, 'item')} "
        "stay: best and last checkpoints, registered models, what a live run or an open page uses. Protection "
        "is looked at again for each item at the moment of its removal."
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep all"):
            st.rerun()
        if st.button(
            f"Remove {several(len(going), 'item')}", type="primary", key="confirmed", on_click=remove, args=(found,)
        ):
            st.rerun()


def remove(found: PrunePlan) -> None:
    pressed.carry_out(lambda: sentence(control.prune(found)))
    plan.clear()


def sentence(done: Pruned) -> str:
    """What was really removed, counted by the remover."""
    notes = f" {' '.join(f'{note}.' for note in done.notes)}" if done.notes else ""
    return f"{several(done.removed, 'item')} removed, {size(done.freed_bytes)} freed, {done.kept} kept.{notes}"
