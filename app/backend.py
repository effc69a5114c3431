"""The page's one way to runs, settings and counts. Reads are shared by all viewers for a moment; orders go through."""

from functools import lru_cache
from typing import Any

import streamlit as st

from flows import control
from flows.control import Accepted, Service
from flows.params import Params, load_params
from flows.runview import DatasetView, RunView
from model import device
from model.device import Device
from model.presets import ModelConfig
from model.size import Size
from model.size import size as count

LISTED = 50


@st.cache_data(ttl=3, show_spinner=False)
def services() -> list[Service]:
    return control.services()


@st.cache_data(ttl=1, show_spinner=False)
def runs() -> list[RunView]:
    """The newest runs, newest first."""
    return control.runs(LISTED)


def run(run_id: str) -> RunView:
    """One run, however old.

    Raises ValueError when it is not known.
    """
    for view in runs():
        if view.run_id == run_id:
            return view
    return control.run(run_id)


@st.cache_data(ttl=10, show_spinner=False)
def datasets() -> list[DatasetView]:
    return control.datasets()


def defaults() -> Params:
    """What `params.yaml` says now.

    Raises ValueError naming the file with everything that is wrong in it.
    """
    return load_params(control.find_project().root / "params.yaml")


def start(changes: dict[str, dict[str, Any]], dataset_version: str | None, key: str) -> Accepted:
    """Puts a run into the queue, once however often it is sent with one key."""
    accepted = control.trigger(changes, dataset_version, key)
    runs.clear()
    return accepted


def cancel(run_id: str) -> str:
    said = control.cancel(run_id)
    runs.clear()
    return said


def train_samples(dataset_version: str, preprocess: dict[str, Any]) -> int | None:
    """The training samples that an earlier run made of this dataset with these settings; None when none did."""
    for view in runs():
        if view.result and (view.dataset_version, view.params["preprocess"]) == (dataset_version, preprocess):
            return int(view.result["samples"]["split"]["train"])
    return None


@lru_cache(maxsize=64)
def size(config: ModelConfig) -> Size:
    """How large a network is, counted once a config."""
    return count(config)


def choose_device(wanted: str) -> Device:
    """Raises ValueError when the wanted device is not there."""
    return device.choose(wanted)


new_key, log_tail, curves = control.new_key, control.log_tail, control.curves
