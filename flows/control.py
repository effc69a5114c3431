"""Run control for the page and the command line: trigger, follow, cancel, resume.

Reading works with any service down.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows import attempt, cancellation, health, queue, runfile, runview
from flows import datasets as versions_of_data
from flows.curves import JOURNAL, predicted_bytes, read_curves, read_memory
from flows.datasets import DatasetView, newer_data
from flows.doctor import Finding, Report, doctor
from flows.errors import ServiceDownError
from flows.health import REMEDY, Service
from flows.imports import Imported, Upload, Wanted, bring_in, put_in_use
from flows.judgement import Judged, Judgement, judgement
from flows.library import LibraryEntry, folder, library, use
from flows.models import VersionView, earlier_champion, model_folder, promote, roll_back, versions
from flows.prediction import NextCandle, NextPivot, Prediction, predict
from flows.project import Project, find_project
from flows.runview import RunView
from flows.stages import NOISE
from flows.upkeep import Disk, Pruned, PruneItem, PrunePlan, disk, hold, prune, prune_plan
from flows.workers import worker_service
from flows.workspace import create

__all__ = [
    "REMEDY",
    "Accepted",
    "DatasetView",
    "Disk",
    "Finding",
    "Imported",
    "Judged",
    "Judgement",
    "LibraryEntry",
    "NextCandle",
    "NextPivot",
    "Prediction",
    "PruneItem",
    "PrunePlan",
    "Pruned",
    "Report",
    "Service",
    "Upload",
    "VersionView",
    "Wanted",
    "bring_in",
    "cancel",
    "curves",
    "datasets",
    "disk",
    "doctor",
    "earlier_champion",
    "folder",
    "hold",
    "judgement",
    "library",
    "log_tail",
    "memory",
    "model_folder",
    "new_key",
    "newer_data",
    "predict",
    "promote",
    "prune",
    "prune_plan",
    "put_in_use",
    "resume",
    "retry",
    "roll_back",
    "run",
    "runs",
    "services",
    "trigger",
    "use",
    "versions",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """A run that Prefect has taken into its queue; `place` 1 starts next or runs already."""

    run_id: str
    flow_run_id: str
    place: int


def trigger(
    changes: dict[str, dict[str, Any]],
    dataset_version: str | None = None,
    key: str | None = None,
    data: Path | None = None,
    fresh: bool = False,
) -> Accepted:
    """Freezes a run and puts it into the queue.

    The same `key` (a run id from `new_key`) gives the same run, however often it is sent. A `fresh` run trains even
    where the run cache knows the result, so that it shows whether the same comes of it.

    Raises ValueError for settings or data that cannot be used, ServiceDownError when Prefect or its worker is missing.
    """
    project = find_project()
    run_id = runfile.check_run_id(key or runfile.new_run_id())
    queue.check()
    create(project, run_id, changes, data=data, dataset_version=dataset_version, door="queue", fresh=fresh)
    return accepted(project, run_id)


def resume(run_id: str) -> Accepted:
    """Queues a run that ended early; it goes on from its newest complete checkpoint.

    Raises ValueError when it waits, runs, is done or is not known, ServiceDownError when Prefect is missing.
    """
    queue.check()
    attempt.renew(find_project(), run_id, resume=True, door="queue")
    return accepted(find_project(), run_id)


def retry(run_id: str) -> Accepted:
    """Queues a run that ended early; it starts anew. Raises as `resume` does."""
    queue.check()
    attempt.renew(find_project(), run_id, resume=False, door="queue")
    return accepted(find_project(), run_id)


def accepted(project: Project, run_id: str) -> Accepted:
    """The frozen run in Prefect's queue. Should Prefect not take it now, the worker queues it once it does."""
    workspace = project.workspace(run_id)
    try:
        flow_run_id = queue.submit(run_id, (runfile.read(workspace) or {}).get("attempt", 1))
    except ServiceDownError as error:
        raise ServiceDownError(
            f"{error}; run {run_id} is kept, and the worker queues it once Prefect takes it"
        ) from None
    runfile.update(workspace, flow_run_id=flow_run_id)
    return Accepted(run_id=run_id, flow_run_id=flow_run_id, place=run(run_id).place or 1)


def new_key() -> str:
    return runfile.new_run_id()


def services() -> list[Service]:
    """Every server this process was told of, and the worker, asked for their health within a second or so."""
    return [*health.services(), worker_service(find_project())]


def runs(limit: int = 50) -> list[RunView]:
    """The newest runs first, with the queue's places; from the state folder alone when Prefect is down."""
    return runview.collect(find_project(), queue.flow_runs, limit)


def run(run_id: str) -> RunView:
    """One run. Raises ValueError when it is not known."""
    runfile.check_run_id(run_id)
    for view in runs(limit=1000):
        if view.run_id == run_id:
            return view
    raise ValueError(f"run {run_id}: not known here")


def cancel(run_id: str) -> str:
    """Asks for the end of a run; returns what was asked of whom.

    Raises ValueError when the run is not queued or running.
    """
    project, view = find_project(), run(run_id)
    if view.state not in ("queued", "running"):
        raise ValueError(f"run {run_id} is {view.state}: there is nothing to cancel")
    if take_out(project, run_id):
        withdraw(view)
        return "taken out of the queue"
    return cancellation.ask(project, run_id)


def take_out(project: Project, run_id: str) -> bool:
    """Cancels a run that has not started; once this is written down, no worker begins it. False when it has started."""
    workspace = project.workspace(run_id)
    with runfile.claimed(project, run_id):
        if (runfile.read(workspace) or {}).get("state") != "queued":
            return False
        runfile.update(workspace, state="cancelled", ended_at=runfile.now(), message="cancelled before it started")
    return True


def withdraw(view: RunView) -> None:
    """Tells Prefect as well; a server that is down learns it when its worker comes to the run."""
    if view.flow_run_id is None:
        return
    with suppress(ServiceDownError):
        queue.end(view.flow_run_id, "cancelled", "cancelled before it started")


def log_tail(run_id: str, lines: int = 40) -> list[str]:
    """The last lines that the run's stages printed, without DVC's own."""
    path = find_project().workspace(runfile.check_run_id(run_id)) / "logs" / "run.log"
    if not path.exists():
        return []
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 400 * lines))
        said = log.read().decode("utf-8", "replace").splitlines()
    return [line for line in said if not NOISE.match(line)][-lines:]


def curves(run_id: str, most: int | None = None) -> dict[str, list[dict[str, str]]]:
    """Rows of the run's train and validation curves, as far as they are written; `most` thins each, evenly."""
    return read_curves(find_project().workspace(runfile.check_run_id(run_id)), most)


def memory(run_id: str, most: int | None = None) -> tuple[list[dict[str, str]], int | None]:
    """What memory the run's training held so far, row by row, and the peak that was predicted when it began.

    `most` thins the rows.
    """
    workspace = find_project().workspace(runfile.check_run_id(run_id))
    return read_memory(workspace, most), predicted_bytes(workspace / JOURNAL)


def datasets() -> list[DatasetView]:
    """The dataset version in `data/` first, then those that earlier runs used."""
    return versions_of_data.datasets(find_project())
