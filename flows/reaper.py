"""Finds runs whose process died, and sets right what Prefect and MLflow believe of them.

A live run is never called dead: see `flows.life` for this machine and `flows.silence` for others.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import Any

from flows import runfile
from flows.burial import ASKED, bury
from flows.errors import ResourceError, ServiceDownError
from flows.ledger import Attempt, Ledger
from flows.life import death, is_held, newest, unbegun
from flows.project import Project
from flows.silence import WINDOW_S, Silence

STATUS = {"crashed": "FAILED", "failed": "FAILED", "cancelled": "KILLED", "done": "FINISHED"}
Say = Callable[[str], None]


def reap(project: Project, say: Say, silence: Silence | None = None) -> list[str]:
    """Writes down every death that can be told, on another machine with `silence` alone; the runs that died.

    A death that we may not write down, of another user's run, is only said.
    """
    buried = []
    for record in records(project):
        run_id = record["run_id"]
        reason = why(project, record, silence)
        if reason is None:
            continue
        try:
            state = write_down(project, record, reason)
        except (PermissionError, ResourceError) as error:
            say(f"run {run_id} died: {reason}; that cannot be written down ({error})")
            continue
        if state:
            buried.append(run_id)
            say(f"run {run_id} {state}: {ASKED if state == 'cancelled' else reason}")
    return buried


def write_down(project: Project, record: dict[str, Any], reason: str) -> str | None:
    """The state in which a dead run is left; None where it has moved meanwhile."""
    run_id = record["run_id"]
    with runfile.claimed(project, run_id):
        moved = (runfile.read(project.workspace(run_id)) or {}) != record
        return None if moved else str(bury(project, run_id, reason)["state"])


def records(project: Project, states: Collection[str] = ("queued", "running")) -> Iterator[dict[str, Any]]:
    """The records of all runs in these states, for the one that runs is the oldest of a queue; damaged ones are passed
    over.
    """
    found = sorted((path for path in project.runs.glob("*") if runfile.RUN_ID.fullmatch(path.name)), reverse=True)
    for workspace in found:
        with suppress(ValueError):
            record = runfile.read(workspace)
            if record and record["state"] in states:
                yield record


def record_of(project: Project, run_id: str) -> dict[str, Any] | None:
    """The record of a run that something else names, empty where there is none; None for one that is damaged."""
    with suppress(ValueError):
        return runfile.read(project.workspace(run_id)) or {}
    return None


def why(project: Project, record: dict[str, Any], silence: Silence | None) -> str | None:
    """Why a run is dead; None when it is not, or when that cannot be told."""
    run_id = record["run_id"]
    if record["state"] == "queued":
        return unbegun(project, record)
    attempt = newest(project, run_id)
    reason = death(project, run_id, attempt)
    return reason if reason or attempt is None or silence is None else silent(attempt, silence)


def silent(attempt: Attempt, silence: Silence) -> str | None:
    """Why an attempt on another machine counts as dead: it was silent for the whole window."""
    if attempt.ended_at or attempt.process.is_here():
        return None
    quiet = silence.lasts_s((attempt.run_id, attempt.attempt), attempt.beat_at) > WINDOW_S
    return f"no heartbeat from {attempt.process.host} for {WINDOW_S:.0f} s" if quiet else None


def close_ended(project: Project) -> None:
    """Closes attempts that the ledger holds for open, though their runs have ended: it could not be written then."""
    ledger = Ledger(project)
    for attempt in ledger.running():
        record = record_of(project, attempt.run_id) or {}
        if record.get("state") in STATUS and not is_held(project, attempt.run_id):
            services = ("mlflow", not record.get("recorded")), ("prefect", record.get("flow_run_id"))
            untold = [service for service, lacks in services if lacks]
            ledger.end(attempt.run_id, attempt.attempt, record["state"], untold)


def tell_mlflow(project: Project, say: Say) -> None:
    """Ends the MLflow runs of attempts that could not do it themselves; what MLflow does not take is kept."""
    from flows.tracking import OUTAGE, close_run  # takes seconds and is seldom needed

    ledger = Ledger(project)
    for attempt in (entry for entry in ledger.untold() if "mlflow" in entry.untold):
        record = record_of(project, attempt.run_id)
        if record is None:
            continue  # it tells of no end, and the others go on
        later = newest(project, attempt.run_id)
        try:
            if record.get("state") in STATUS and later and later.attempt == attempt.attempt:
                close_run(project, attempt.run_id, STATUS[record["state"]], attempt.reason or "")
        except OUTAGE as error:
            raise ServiceDownError(f"MLflow does not answer ({type(error).__name__})") from error
        ledger.told(attempt.run_id, attempt.attempt, "mlflow")
        say(f"MLflow knows now how run {attempt.run_id} ended")
