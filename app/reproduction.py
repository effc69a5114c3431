"""Doing a run again: with the same settings and dataset version, and whether the same weights came of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app import address, backend, orders
from app.format import plain, tag
from flows.errors import classify
from flows.runview import RunView

Settings = Mapping[str, Mapping[str, Any]]
REFUSED = "why a run was not reproduced"


def start(view: RunView, key: str) -> None:
    """Puts the run into the queue once more, once a key, and compares the two."""
    try:
        accepted = backend.reproduce(view, key)
    except orders.REFUSALS as error:
        st.session_state[REFUSED] = classify(error).message
    else:
        address.compare([view.run_id, accepted.run_id])


def refusal() -> str:
    return str(st.session_state.pop(REFUSED, ""))


def twins(views: Sequence[RunView]) -> list[tuple[RunView, RunView]]:
    """Pairs of the runs that were asked for the same, the older first."""
    ordered = sorted(views, key=lambda view: view.run_id)
    return [
        (first, second)
        for at, first in enumerate(ordered)
        for second in ordered[at + 1 :]
        if first.dataset_version == second.dataset_version and same(first.params, second.params)
    ]


def same(first: Settings, second: Settings) -> bool:
    """Whether all settings that both know are equal: an older run knows none of what came later."""
    return all(
        value == second[section][name]
        for section, values in first.items()
        for name, value in values.items()
        if name in second.get(section, {})
    )


def verdict(first: RunView, second: RunView) -> str:
    """Whether two runs of the same settings and dataset version have the same weights, in a sentence of Markdown."""
    names = f"{tag(first.run_id)} and {tag(second.run_id)} have the same settings and dataset version"
    waiting = [view for view in (first, second) if not view.result]
    if waiting:
        return f"{names}; {tag(waiting[0].run_id)} is {waiting[0].state}, so their weights cannot be compared yet."
    hashes = [str((view.result or {}).get("weights_sha256")) for view in (first, second)]
    if hashes[0] != hashes[1]:
        apart = f"{plain(hashes[0][:12])} and {plain(hashes[1][:12])}"
        return f"{names}, and :orange[different] weights: sha256 {apart}. {machines(first, second)}"
    same = f"{names}, and :green[equal] weights: sha256 {plain(hashes[0][:12])}."
    return f"{same} {CACHED}" if cached(second) else same


CACHED = "The second was not trained again but restored from the run cache, so this proves nothing new."


def cached(view: RunView) -> bool:
    return any(name == "train" and state == "cached" for name, state, _ in view.stages)


def machines(first: RunView, second: RunView) -> str:
    """Where they were trained, since other threads or instructions give other bits."""
    told = [
        f"{report.get('device')} with {report.get('threads')} threads"
        for report in ((view.result or {}).get("train") or {} for view in (first, second))
    ]
    return plain(f"Trained on {told[0]}" + ("." if told[0] == told[1] else f" and on {told[1]}."))
