"""What the address says of a view: which runs are compared, and settings that a link brings to the form."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from app.settings import KEPT, Setting, held
from flows.params import Params, change, parse_value
from flows.runview import RunView

COMPARE = "compare"
DATASET, VERSION = "data", "version"  # of a dataset, and of a registered model
CHOSEN_DATASET = "chosen dataset version"  # in the form
TAKEN = "settings of the address that are in the form, and why not"
MOST = 6  # runs side by side: more cannot be told apart
# `st.query_params` makes a step of history of everything that it sets: Back would lead to the same view once more.
REPLACE = """
export default function ({ data }) {
  const address = new URL(window.location.href);
  if (address.searchParams.get(data.name) === data.value) return;
  address.searchParams.set(data.name, data.value);
  window.history.replaceState(window.history.state, "", address);
}
"""


def complete(name: str, value: str) -> None:
    """Writes what the page chose unasked into the address, so that a link and a reload show the same. Draw it last."""
    component = st.components.v2.component("pivotline_address", js=REPLACE)
    component(data={"name": name, "value": value}, key=f"address {name}")


def compared() -> list[str]:
    """The run ids that the address asks to compare, each once: a run beside itself says nothing."""
    return list(dict.fromkeys(name for name in st.query_params.get(COMPARE, "").split(",") if name))


def compare(run_ids: Iterable[str]) -> None:
    wanted = ",".join(run_ids)
    if wanted:
        st.query_params[COMPARE] = wanted
    else:
        st.query_params.pop(COMPARE, None)


def settings_of(view: RunView, known: Mapping[str, Setting]) -> dict[str, str]:
    """A run's settings and dataset version as they stand in an address; what is as in the form is left out."""
    asked = {
        key: json.dumps(view.params[entry.section][entry.name])
        for key, entry in known.items()
        if view.params.get(entry.section, {}).get(entry.name, entry.default) != entry.default
    }
    return asked | {DATASET: view.dataset_version}


def offer(view: RunView, known: Mapping[str, Setting]) -> dict[str, str]:
    """The same for a link: who follows it twice has the form filled in twice."""
    st.session_state.pop(TAKEN, None)
    return settings_of(view, known)


def take_settings(known: Mapping[str, Setting], params: Params) -> str:
    """Fills the settings of the address into the form, where those of an earlier visit go; once, while they stand.

    Returns why they cannot be used, or nothing.
    """
    asked = {key: st.query_params[key] for key in (*known, DATASET) if key in st.query_params}
    if st.session_state.get(TAKEN, ({}, ""))[0] != asked:
        st.session_state[TAKEN] = asked, fill_in(asked, known, params) if asked else ""
    return str(st.session_state.get(TAKEN, ({}, ""))[1])


def fill_in(asked: dict[str, str], known: Mapping[str, Setting], params: Params) -> str:
    try:
        values = {key: parse_value(text) for key, text in asked.items() if key in known}
        change(params, sectioned(values, known))
    except ValueError as error:
        return f"The link's settings cannot be used: {error}"
    for key, entry in known.items():
        value = held(entry, values.get(key, entry.default))
        st.session_state.setdefault(KEPT, {})[key] = st.session_state[key] = value
    if DATASET in asked:
        st.session_state[CHOSEN_DATASET] = asked[DATASET]
    return ""


def sectioned(values: Mapping[str, Any], known: Mapping[str, Setting]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        found.setdefault(known[key].section, {})[known[key].name] = value
    return found
