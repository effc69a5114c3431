"""The inputs of a run's settings, made from the types, bounds and help that the params themselves carry."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import floor, log10
from typing import Any

import streamlit as st

from app.format import label
from flows.params import Params, change

KEPT = "kept settings"  # a view's inputs are forgotten when another view is opened; these are not
AUTO = "auto"
SECTIONS = {"preprocess": "Samples", "model": "Model", "train": "Training", "dqn": "DQN"}  # that the form asks for


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of a section of the params: its default and what its field says of it."""

    section: str
    name: str
    default: Any
    about: Mapping[str, Any]  # help, min, max, choices, unit

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"


def settings(params: Params) -> dict[str, Setting]:
    """The settings of the form by key; what has a single choice is none."""
    found = [
        Setting(section, entry.name, getattr(getattr(params, section), entry.name), entry.metadata)
        for section in SECTIONS
        for entry in fields(getattr(params, section))
        if len(entry.metadata.get("choices") or (1, 2)) > 1
    ]
    return {entry.key: entry for entry in found}


def ask(setting: Setting, title: str = "") -> Any:
    """Draws the input of a setting and returns its value, which outlives a visit to another view."""
    recall(setting)
    value = keep(setting, draw(setting, title or label(setting.name, setting.about["unit"])))
    return AUTO if value is None else value


def recall(setting: Setting) -> None:
    """Before an input is drawn: what it held on the last visit, else the default."""
    if setting.key not in st.session_state:
        kept = st.session_state.setdefault(KEPT, {})
        st.session_state[setting.key] = kept.get(setting.key, held(setting, setting.default))


def keep(setting: Setting, value: Any) -> Any:
    st.session_state.setdefault(KEPT, {})[setting.key] = value
    return value


def held(setting: Setting, value: Any) -> Any:
    """A value as its input holds it: a number that is chosen from the samples is an empty input."""
    return None if value == AUTO and not setting.about["choices"] else value


def draw(setting: Setting, title: str) -> Any:
    """The input. A number has no bounds here: the browser keeps one beyond them to itself, and the run gets another."""
    about, default = setting.about, setting.default
    options = {"key": setting.key, "help": about["help"]}
    if isinstance(default, bool):
        return st.toggle(title, **options)
    if about["choices"]:
        return st.selectbox(title, about["choices"], **options)
    if setting.name == "batch_size":
        options["help"] += " Empty = auto."
        return st.number_input(title, value=None, step=1, placeholder=AUTO, **options)
    if isinstance(default, float):
        return st.number_input(title, step=step(default), format="%g", **options)
    return st.number_input(title, step=1, **options)


def step(value: float) -> float:
    """A step of about a tenth of the value."""
    return float(10.0 ** floor(log10(value / 2))) if value > 0 else 0.01


def changes(values: Mapping[str, Any], known: Mapping[str, Setting]) -> dict[str, dict[str, Any]]:
    """What differs from the defaults, section -> name -> value."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        if value != known[key].default:
            found.setdefault(known[key].section, {})[known[key].name] = value
    return found


def applied(params: Params, wanted: dict[str, dict[str, Any]]) -> tuple[Params, str]:
    """The params with the changes, or as they were and the sentence that says what is wrong."""
    try:
        return change(params, wanted), ""
    except ValueError as error:
        return params, str(error)
