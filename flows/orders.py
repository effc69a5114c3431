"""Orders for runs: trigger, resume, retry, cancel. What is taken is written down before anyone is told."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows import attempt, cancellation, queue, runfile
from flows.errors import ServiceDownError
from flows.following import run
from flows.project import Project, find_project
from flows.runview import RunView
from flows.witness import is_open
from flows.workspace import create


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """A run that Prefect has taken into its queue; `place` 1 starts next or runs already."""

    run_id: str
    flow_run_id: str
    place: int


def new_key() -> str:
    return runfile.new_run_id()


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


def cancel(run_id: str) -> str:
    """Asks for the end of a run; returns what was asked of whom.

    Of one that was cancelled, what is left of the proof is asked for. Raises ValueError when the run is not queued or
    running.
    """
    project, view = find_project(), run(run_id)
    if is_open(runfile.read(project.workspace(run_id)) or {}):
        cancellation.start(project, run_id)
        return "it has ended, and the proof of that is brought to its end"
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
