"""Run control for the page and the command line: trigger, follow, cancel.

Reading works with any service down.
"""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Cancelling

from flows import runfile, runview
from flows.curves import read_curves
from flows.errors import ServiceDownError
from flows.health import Service, ask, prefect_url, services
from flows.imports import Imported, Upload, Wanted, bring_in, put_in_use
from flows.judgement import Judged, Judgement, judgement
from flows.library import LibraryEntry, folder, library, use
from flows.models import VersionView, earlier_champion, model_folder, promote, roll_back, versions
from flows.prediction import NextCandle, NextPivot, Prediction, predict
from flows.project import Project, find_project
from flows.runview import DatasetView, RunView
from flows.stages import NOISE
from flows.upkeep import Disk, Pruned, PruneItem, PrunePlan, disk, prune, prune_plan
from flows.workspace import create

__all__ = [
    "Accepted",
    "Disk",
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
    "Service",
    "Upload",
    "VersionView",
    "Wanted",
    "bring_in",
    "cancel",
    "curves",
    "datasets",
    "disk",
    "earlier_champion",
    "folder",
    "judgement",
    "library",
    "log_tail",
    "model_folder",
    "new_key",
    "predict",
    "promote",
    "prune",
    "prune_plan",
    "put_in_use",
    "roll_back",
    "run",
    "runs",
    "services",
    "trigger",
    "use",
    "versions",
]

DEPLOYMENT = "pivotline/local"
ANSWER_S = 5.0
REMEDY = "start it with `make up`"


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """A run that Prefect has taken into its queue; `place` 1 starts next or runs already."""

    run_id: str
    flow_run_id: str
    place: int


@contextmanager
def prefect() -> Iterator[SyncPrefectClient]:
    """A client of the Prefect server; raises ServiceDownError with the remedy when it does not answer."""
    url = prefect_url()
    health = ask("Prefect", url, f"{url}/health")
    if not health.up:
        raise ServiceDownError(f"Prefect {health.detail}; {REMEDY}")
    try:
        with SyncPrefectClient(
            url, auth_string=os.environ.get("PREFECT_API_AUTH_STRING"), httpx_settings={"timeout": ANSWER_S}
        ) as client:
            yield client
    except httpx.TransportError as error:
        raise ServiceDownError(f"Prefect does not answer at {url} ({type(error).__name__}); {REMEDY}") from error


def trigger(
    changes: dict[str, dict[str, Any]],
    dataset_version: str | None = None,
    key: str | None = None,
    data: Path | None = None,
) -> Accepted:
    """Freezes a run and puts it into the queue.

    The same `key` (a run id from `new_key`) gives the same run, however often it is sent.

    Raises ValueError for settings or data that cannot be used, ServiceDownError when Prefect or its worker is missing.
    """
    project = find_project()
    run_id = runfile.check_run_id(key or runfile.new_run_id())
    with prefect() as client:
        try:
            deployment = client.read_deployment_by_name(DEPLOYMENT)
        except ObjectNotFound:
            raise ServiceDownError(f"no worker has served {DEPLOYMENT} yet; {REMEDY}") from None
        create(project, run_id, changes, data=data, dataset_version=dataset_version)
        flow_run = client.create_flow_run_from_deployment(
            deployment.id, parameters={"run_id": run_id}, idempotency_key=run_id, name=run_id
        )
    return Accepted(run_id=run_id, flow_run_id=str(flow_run.id), place=run(run_id).place or 1)


def new_key() -> str:
    return runfile.new_run_id()


def runs(limit: int = 50) -> list[RunView]:
    """The newest runs first, with the queue's places; from the state folder alone when Prefect is down."""
    return runview.collect(find_project().runs, flow_runs(limit), limit)


def run(run_id: str) -> RunView:
    """One run. Raises ValueError when it is not known."""
    runfile.check_run_id(run_id)
    for view in runs(limit=1000):
        if view.run_id == run_id:
            return view
    raise ValueError(f"run {run_id}: not known here")


def flow_runs(limit: int) -> dict[str, FlowRun] | None:
    """Prefect's flow runs by name, None when it does not answer."""
    try:
        with prefect() as client:
            found = client.read_flow_runs(
                flow_run_filter=FlowRunFilter(), sort=FlowRunSort.EXPECTED_START_TIME_DESC, limit=min(limit, 200)
            )
            return {entry.name: entry for entry in found}
    except ServiceDownError:
        return None


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
    if view.flow_run_id is None:
        return cancel_here(project, run_id)
    with prefect() as client:
        client.set_flow_run_state(view.flow_run_id, Cancelling())
    return "asked Prefect to end the run"


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
    with suppress(ServiceDownError), prefect() as client:
        client.set_flow_run_state(view.flow_run_id, Cancelled(message="cancelled before it started"))


def cancel_here(project: Project, run_id: str) -> str:
    """Ends a run that a command line of this machine is running."""
    record = runfile.read(project.workspace(run_id)) or {}
    owner = record.get("owner") or {}
    if owner.get("host") != socket.gethostname() or not runfile.owner_lives(record):
        raise ValueError(f"run {run_id}: its process is not on this machine")
    os.kill(int(owner["pid"]), signal.SIGTERM)
    return f"told process {owner['pid']} to end"


def log_tail(run_id: str, lines: int = 40) -> list[str]:
    """The last lines that the run's stages printed, without DVC's own."""
    path = find_project().workspace(runfile.check_run_id(run_id)) / "logs" / "run.log"
    if not path.exists():
        return []
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 400 * lines))
        said = log.read().decode("utf-8", "replace").splitlines()
    return [line for line in said if not NOISE.match(line)][-lines:]


def curves(run_id: str) -> dict[str, list[dict[str, str]]]:
    """Rows of the run's train and validation curves, as far as they are written."""
    return read_curves(find_project().workspace(runfile.check_run_id(run_id)))


def datasets() -> list[DatasetView]:
    """The dataset version in `data/` first, then those that earlier runs used."""
    return runview.datasets(find_project())
