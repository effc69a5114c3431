"""The page's one way to runs, settings and counts. Reads are shared by all viewers for a moment; orders go through."""

from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import streamlit as st

from dataset.config import PreprocessConfig
from dataset.describe import describe
from flows import control
from flows.control import Accepted, DatasetView, Disk, Service, VersionView
from flows.params import Params, load_params
from flows.runview import RunView
from model import batches, device
from model.device import Device
from model.kinds import NetworkConfig
from model.size import Size
from model.size import size as count

LISTED = 50
ALL = 1000  # runs that the table of all runs reads at most


@st.cache_data(ttl=3, show_spinner=False)
def services() -> list[Service]:
    return control.services()


@st.cache_data(ttl=1, show_spinner=False)
def runs() -> list[RunView]:
    """The newest runs, newest first."""
    return control.runs(LISTED)


@st.cache_data(ttl=2, show_spinner=False)
def all_runs() -> list[RunView]:
    """All runs, newest first."""
    return control.runs(ALL)


def run(run_id: str) -> RunView:
    """One run, however old.

    Raises ValueError when it is not known.
    """
    for view in runs():
        if view.run_id == run_id:
            return view
    return control.run(run_id)


def hold(views: Iterable[RunView]) -> None:
    """Says that these runs are looked at; one that has not ended is protected without that, and prunes itself."""
    control.hold(runs=[view.run_id for view in views if view.ended_at])


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
    accepted = control.trigger(changes, elsewhere(dataset_version), key)
    forget_runs()
    return accepted


def reproduce(view: RunView, key: str) -> Accepted:
    """The same settings and dataset version once more, trained anew whatever is cached; once a key."""
    accepted = control.trigger(view.params, elsewhere(view.dataset_version), key, fresh=True)
    forget_runs()
    return accepted


def elsewhere(dataset_version: str | None) -> str | None:
    """The version to ask for by name: none for the one that `data/` holds right now.

    That is taken from there: until a run has used it, nothing else knows it.
    """
    here = [entry.version for entry in control.datasets() if entry.current]
    return None if dataset_version in here else dataset_version


def cancel(run_id: str) -> str:
    said = control.cancel(run_id)
    forget_runs()
    return said


def versions() -> list[VersionView]:
    """The registered versions, newest first. Raises ServiceDownError when MLflow does not answer."""
    return control.versions()


@st.cache_data(ttl=20, show_spinner=False)
def disk() -> Disk:
    """What is used and what may be."""
    return control.disk()


def resume(run_id: str) -> Accepted:
    """The same run, on from its newest complete checkpoint."""
    accepted = control.resume(run_id)
    forget_runs()
    return accepted


def retry(run_id: str) -> Accepted:
    """The same run, from its start."""
    accepted = control.retry(run_id)
    forget_runs()
    return accepted


def forget_runs() -> None:
    """After an order: the next look is at what it changed."""
    runs.clear()
    all_runs.clear()


def known_split(dataset_version: str, preprocess: PreprocessConfig) -> tuple[int, int] | None:
    """Training and validation samples of a dataset with these settings, as an earlier run made them."""
    wanted = (dataset_version, asdict(preprocess))
    for view in runs():
        if view.result and (view.dataset_version, view.params["preprocess"]) == wanted:
            split = view.result["samples"]["split"]
            return int(split["train"]), int(split["validation"])
    return None


def is_here(dataset_version: str) -> bool:
    """Whether a version is the one in `data/`."""
    return any(entry.current and entry.version == dataset_version for entry in datasets())


def newer_data(dataset_version: str) -> str | None:
    """What to say of a run whose dataset is not the one in `data/` any more."""
    now = next((entry.version for entry in datasets() if entry.current), None)
    return control.newer_data(dataset_version, now)


def count_samples(dataset_version: str, preprocess: PreprocessConfig) -> tuple[int, int]:
    """Samples of `data/`, counted by making them, which takes seconds: the version only names what is counted."""
    split = describe(control.find_project().root / "data", preprocess)["split"]
    return int(split["train"]), int(split["validation"])


def batch(samples: int, batch_size: int | str) -> int:
    """Samples an update; `auto` chooses from all samples, as a training does."""
    return min(samples, batches.auto_size(samples) if isinstance(batch_size, str) else batch_size)


def updates(samples: int, batch_size: int | str) -> int:
    """Updates an epoch."""
    return batches.updates(samples, batch(samples, batch_size))


@lru_cache(maxsize=64)
def size(config: NetworkConfig) -> Size:
    """How large a network is, counted once a config."""
    return count(config)


def choose_device(wanted: str) -> Device:
    """Raises ValueError when the wanted device is not there."""
    return device.choose(wanted)


new_key, log_tail, curves, memory = control.new_key, control.log_tail, control.curves, control.memory
