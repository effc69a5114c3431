"""What a run looks like from outside: its own record, corrected by what Prefect knows of it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from flows import runfile
from flows.checkpoints import resumable_step
from flows.curves import curves_folder, read_curve
from flows.life import death, newest
from flows.places import in_order, nobody_starts, places
from flows.project import Project
from flows.salvage import readable
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
RESUMABLE = ("failed", "crashed", "cancelled")
STAGES = ("preprocess", "train", "evaluate", "register")


class FlowRunLike(Protocol):
    """The part of Prefect's flow run that a view needs."""

    id: Any
    name: str
    state: Any
    next_scheduled_start_time: Any
    expected_start_time: Any


Asking = Callable[[Collection[str]], Mapping[str, FlowRunLike] | None]  # what Prefect knows of some runs


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
    attempt: int = 1  # of the run; another one after each resume or retry
    resumable_step: int | None = None  # update of the checkpoint that an ended run can go on from
    proof: tuple[str, ...] = ()  # what is known of a cancel, in order
    cancel_asked_at: str | None = None
    mlflow_run_id: str | None = None
    reason: str | None = None  # why a queued run waits

    @property
    def name(self) -> str:
        model = self.params["model"]
        return f"{title(model['kind'], model['preset'])} on {self.dataset_version[:7]}"


def collect(project: Project, ask: Asking, limit: int, only: str | None = None) -> list[RunView]:
    """The newest `limit` runs and whatever runs now, newest first, with their places in the queue; or `only` one run.

    Prefect is asked only of the runs that have not ended: the others say themselves what became of them. Those are all
    looked at, however many were asked for since: a queue begins with its oldest.
    """
    found = sorted((path for path in project.runs.glob("*") if runfile.RUN_ID.fullmatch(path.name)), reverse=True)
    records = {path: record for path in found if (record := readable(path))}
    answer = ask([path.name for path, record in records.items() if record["state"] not in runfile.ENDED])
    flow_runs = {path.name: entry for path, record in records.items() if (entry := told_of(record, answer or {}))}
    states = {path.name: state_of(project, record, flow_runs.get(path.name)) for path, record in records.items()}
    waiting = in_order((record for path, record in records.items() if states[path.name][0] == "queued"), due(flow_runs))
    running = [name for name, (state, _) in states.items() if state == "running"]
    queue = places(waiting, running, nobody_starts(project, answer is not None) if waiting else None)
    newest = {path.name for path in list(records)[:limit]}
    shown = {only} if only else {*newest, *running}
    return [
        view(path, record, *states[path.name], queue.get(path.name), flow_runs.get(path.name))
        for path, record in records.items()
        if path.name in shown
    ]


def told_of(record: dict[str, Any], flow_runs: Mapping[str, FlowRunLike]) -> FlowRunLike | None:
    """What Prefect says of the run's newest attempt; its word on an earlier one counts no more."""
    found = flow_runs.get(record["run_id"])
    known = record.get("flow_run_id")
    is_newest = found is not None and (str(found.id) == known if known else record.get("attempt", 1) == 1)
    return found if is_newest else None


def due(flow_runs: Mapping[str, FlowRunLike]) -> dict[str, datetime]:
    """When each flow run that waits is to start: two orders of one moment reach Prefect in either order."""
    return {
        name: entry.next_scheduled_start_time or entry.expected_start_time
        for name, entry in flow_runs.items()
        if entry.state and STATES[entry.state.type.value] == "queued"
    }


def state_of(project: Project, record: dict[str, Any], flow_run: FlowRunLike | None) -> tuple[str, str | None]:
    """The run's state and a word on it: its own end counts first, then its process, then Prefect's word."""
    own, run_id = record["state"], record["run_id"]
    if own in runfile.ENDED:
        return own, record.get("message")
    if own == "running":
        reason = death(project, run_id, newest(project, run_id))
        if reason:
            return "crashed", reason
        ending = record.get("cancel_asked_at") or (flow_run and flow_run.state.type.value == "CANCELLING")
        return own, "being cancelled" if ending else record.get("message")
    known = STATES.get(flow_run.state.type.value) if flow_run and flow_run.state else None
    if known in ("cancelled", "crashed", "failed"):
        return known, flow_run.state.message if flow_run else None
    return own, record.get("message")


def view(
    path: Path,
    record: dict[str, Any],
    state: str,
    message: str | None,
    queued: tuple[int, str | None] | None,
    flow_run: FlowRunLike | None,
) -> RunView:
    """`queued` is the place of a waiting run and why it waits."""
    stages = record.get("stages", {})
    place, reason = queued or (None, None)
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
        place=place,
        progress=progress(path, record) if state == "running" else None,
        result=record.get("result"),
        message=message,
        attempt=record.get("attempt", 1),
        resumable_step=resumable_step(path, record) if state in RESUMABLE else None,
        proof=tuple(record.get("proof", ())),
        cancel_asked_at=record.get("cancel_asked_at"),
        mlflow_run_id=record.get("mlflow_run_id") or (record.get("result") or {}).get("mlflow_run_id"),
        reason=reason,
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
    rows = [row for row in read_curve(curves_folder(path) / "train.csv", most=2) if row.get("elapsed_s")]
    if not rows or record["stages"]["train"].get("state") != "running":
        return None
    step, epochs = int(rows[-1]["step"]), int(record["params"]["train"]["epochs"])
    steps = int(rows[-1]["steps"]) if rows[-1].get("steps") else None
    spent = float(rows[-1]["elapsed_s"])
    eta_s = spent / step * (steps - step) if steps and step > 1 else None
    return Progress(epoch=int(rows[-1]["epoch"]), epochs=epochs, step=step, steps=steps, eta_s=eta_s)
