"""What the address says of a view: which runs are compared, and settings that a link brings to the form."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from app.settings import KEPT, Setting, held
from flows.params import Params, change, parse_value
from flows.runview import RunView

COMPARE = "compare"
DATASET = "version"
MOST = 6  # runs side by side: more cannot be told apart


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


def take_settings(known: Mapping[str, Setting], params: Params) -> str:
    """Moves the settings of the address into the form, where those of an earlier visit go.

    Returns why they cannot be used, or nothing.
    """
    asked = {key: st.query_params[key] for key in known if key in st.query_params}
    version = st.query_params.get(DATASET)
    for key in (*asked, *([DATASET] if version else [])):
        del st.query_params[key]
    if not asked and not version:
        return ""
    try:
        values = {key: parse_value(text) for key, text in asked.items()}
        change(params, sectioned(values, known))
    except ValueError as error:
        return f"The link's settings cannot be used: {error}"
    for key, entry in known.items():
        value = held(entry, values.get(key, entry.default))
        st.session_state.setdefault(KEPT, {})[key] = st.session_state[key] = value
    if version:
        st.session_state[DATASET] = version
    return ""


def sectioned(values: Mapping[str, Any], known: Mapping[str, Setting]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        found.setdefault(known[key].section, {})[known[key].name] = value
    return found
