"""What a run looks like from outside: its own record, corrected by what Prefect knows of it."""

import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from dataset.versions import tracked_version, version
from flows import runfile
from flows.curves import read_curves
from flows.params import Params, as_dict, load_params
from flows.project import Project
from model.kinds import title

STATES = {
    "SCHEDULED": "queued",
    "PENDING": "queued",
    "PAUSED": "queued",
    "RUNNING": "running",
    "CANCELLING": "running",
    "CANCELLED": "cancelled",
    "CRASHED": "crashed",
    "FAILED": "failed",
    "COMPLETED": "done",
}
UNKNOWN = "unknown"
STAGES = ("preprocess", "train", "evaluate", "register")


class FlowRunLike(Protocol):
    """The part of Prefect's flow run that a view needs."""

    id: Any
    name: str
    state: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far the training is; `eta_s` is None until two updates are timed."""

    epoch: int
    epochs: int
    step: int
    steps: int | None
    eta_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunView:
    """One run for the page and the command line. `place` counts from 1 among queued runs."""

    run_id: str
    state: str  # queued | running | done | failed | crashed | cancelled
    dataset_version: str
    created_at: str
    params: dict[str, dict[str, Any]]
    stages: tuple[tuple[str, str, str], ...] = ()  # name, state, detail
    flow_run_id: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    place: int | None = None
    progress: Progress | None = None
    result: dict[str, Any] | None = None
    message: str | None = None

    @property
    def name(self) -> str:
        model = self.params["model"]
        return f"{title(model['kind'], model['preset'])} on {self.dataset_version[:7]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetView:
    """A dataset version that a run can use."""

    version: str
    current: bool
    facts: dict[str, Any] = field(default_factory=dict)


def collect(folder: Path, flow_runs: Mapping[str, FlowRunLike] | None, limit: int) -> list[RunView]:
    """The newest `limit` runs under `folder`, newest first; places follow the order in which runs were asked for."""
    workspaces = sorted((path for path in folder.glob("*") if runfile.RUN_ID.fullmatch(path.name)), reverse=True)[
        :limit
    ]
    records = [(path, record) for path in workspaces if (record := readable(path))]
    states = {path.name: state_of(record, (flow_runs or {}).get(path.name)) for path, record in records}
    waiting = sorted(name for name, (state, _) in states.items() if state == "queued")
    return [
        view(path, record, *states[path.name], waiting, (flow_runs or {}).get(path.name)) for path, record in records
    ]


def readable(workspace: Path) -> dict[str, Any] | None:
    """The run's record; where it is damaged, what else is known, shown as failed."""
    try:
        return runfile.read(workspace)
    except ValueError as error:
        return salvaged(workspace, str(error))


def salvaged(workspace: Path, message: str) -> dict[str, Any]:
    params, dataset_version = as_dict(Params()), UNKNOWN
    params["model"]["preset"] = UNKNOWN
    with suppress(ValueError):
        params = as_dict(load_params(workspace / "params.yaml"))
    with suppress(ValueError):
        dataset_version = tracked_version(workspace / "data.dvc")
    asked = datetime.strptime(workspace.name[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    return {
        "run_id": workspace.name,
        "state": "failed",
        "created_at": asked.isoformat(timespec="milliseconds"),
        "dataset_version": dataset_version,
        "params": params,
        "stages": {},
        "message": message,
    }


def state_of(record: dict[str, Any], flow_run: FlowRunLike | None) -> tuple[str, str | None]:
    """The run's state and a word on it: its own end counts first, then Prefect's, then its process's."""
    own = record["state"]
    if own in runfile.ENDED:
        return own, record.get("message")
    known = STATES.get(flow_run.state.type.value) if flow_run and flow_run.state else None
    if known in ("cancelled", "crashed", "failed"):
        return known, flow_run.state.message if flow_run else None
    if own == "running" and owner_died(record):
        return "crashed", "its process ended without a word"
    if own == "running" and flow_run and flow_run.state.type.value == "CANCELLING":
        return own, "being cancelled"
    return own, record.get("message")


def owner_died(record: dict[str, Any]) -> bool:
    """Only a process of this machine can be looked up; of another nothing is claimed."""
    owner = record.get("owner") or {}
    return owner.get("host") == socket.gethostname() and not runfile.owner_lives(record)


def view(
    path: Path,
    record: dict[str, Any],
    state: str,
    message: str | None,
    waiting: list[str],
    flow_run: FlowRunLike | None,
) -> RunView:
    stages = record.get("stages", {})
    return RunView(
        run_id=record["run_id"],
        state=state,
        dataset_version=record["dataset_version"],
        created_at=record["created_at"],
        params=record["params"],
        stages=tuple((name, stage_state(stages.get(name, {}), state), detail(stages.get(name, {}))) for name in STAGES),
        flow_run_id=record.get("flow_run_id") or (str(flow_run.id) if flow_run else None),
        started_at=record.get("started_at"),
        ended_at=record.get("ended_at"),
        place=waiting.index(path.name) + 1 if state == "queued" else None,
        progress=progress(path, record) if state == "running" else None,
        result=record.get("result"),
        message=message,
    )


def stage_state(stage: dict[str, Any], run_state: str) -> str:
    """A stage's own state; one that its run left behind unfinished shares the run's end."""
    own = str(stage.get("state", "waiting"))
    return run_state if own == "running" and run_state != "running" else own


def detail(stage: dict[str, Any]) -> str:
    if stage.get("detail"):
        return str(stage["detail"])
    return f"{stage['elapsed_s']:.1f} s" if "elapsed_s" in stage else ""


def progress(path: Path, record: dict[str, Any]) -> Progress | None:
    """Read off the last training row and the updates an epoch that the preprocess stage's report implies."""
    rows = read_curves(path)["train"]
    if not rows or record["stages"]["train"].get("state") != "running":
        return None
    step, epochs = int(rows[-1]["step"]), int(record["params"]["train"]["epochs"])
    steps = int(rows[-1]["steps"]) if rows[-1].get("steps") else None
    spent = float(rows[-1]["elapsed_s"])
    eta_s = spent / step * (steps - step) if steps and step > 1 else None
    return Progress(epoch=int(rows[-1]["epoch"]), epochs=epochs, step=step, steps=steps, eta_s=eta_s)


def datasets(project: Project) -> list[DatasetView]:
    """The version in `data/` first, then those that earlier runs used, newest first."""
    found: dict[str, DatasetView] = {}
    if (project.root / "data").is_dir():
        current = version(project.root / "data")
        found[current] = DatasetView(version=current, current=True)
    for pointer in sorted(project.runs.glob("*/data.dvc"), reverse=True):
        name = tracked_version(pointer)
        record = readable(pointer.parent) or {}
        facts = (record.get("result") or {}).get("samples") or {}
        if name not in found or (facts and not found[name].facts):
            found[name] = DatasetView(version=name, current=bool(name in found and found[name].current), facts=facts)
    return list(found.values())
