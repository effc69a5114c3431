"""Brings MLflow level with what the runs kept themselves: points, scores, ends and versions that it did not take.

Each thing is there once, however often this is done and wherever it was interrupted: `runrecord` asks what is there
before it sends, `registry` finds a version by its run.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import Timeout

from flows import leases, runfile, summary
from flows.life import is_held
from flows.models import asked
from flows.project import Project

STATUS = {"crashed": "FAILED", "failed": "FAILED", "cancelled": "KILLED", "done": "FINISHED"}
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """What MLflow lacked: runs that were brought level, points sent, versions registered."""

    runs: tuple[str, ...]
    points: int
    versions: tuple[int, ...]
    notes: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()  # runs that cannot be brought level, each with its note


def pending(project: Project) -> list[str]:
    """Ended runs whose record in MLflow is not known to be whole, oldest first; read from the state folder alone."""
    return [record["run_id"] for record in unrecorded(project)]


def unrecorded(project: Project) -> Iterator[dict[str, Any]]:
    """Records of such runs; a run from before it was written down counts as recorded when it has a result."""
    found = sorted(path for path in project.runs.glob("*") if runfile.RUN_ID.fullmatch(path.name))
    for workspace in found:
        with suppress(ValueError):
            record = runfile.read(workspace)
            if record is None or record["state"] not in runfile.ENDED or not record.get("started_ms"):
                continue
            if not record.get("recorded", bool((record.get("result") or {}).get("mlflow_run_id"))):
                yield record


def sync(project: Project, say: Say) -> Synced:
    """Brings all pending runs level. Raises ServiceDownError when MLflow does not answer."""
    from flows.runrecord import recording

    runs: list[str] = []
    points, versions, notes, damaged = 0, [], [], []
    with asked(project) as tracking:
        for record in unrecorded(project):
            run_id = record["run_id"]
            if is_held(project, run_id):
                continue
            try:
                held = leases.held(project, f"run:{run_id}", "its record is being brought level")
                with held, recording(project, run_id).acquire(timeout=1.0):
                    sent, version = bring(project, tracking, project.workspace(run_id))
            except Timeout:
                notes.append(f"run {run_id}: another process is writing its record")
                continue
            except (FileNotFoundError, ValueError) as error:  # its own files are damaged: the others go on
                notes.append(f"run {run_id}: cannot be brought level: {error}")
                damaged.append(run_id)
                continue
            runs.append(run_id)
            points += sent
            versions += [] if version is None else [version]
            what = "" if version is None else f", registered as version {version}"
            say(f"MLflow is level with run {run_id}: {sent} points sent{what}")
    return Synced(runs=tuple(runs), points=points, versions=tuple(versions), notes=tuple(notes), damaged=tuple(damaged))


def bring(project: Project, tracking: Any, workspace: Path) -> tuple[int, int | None]:
    """One run's points, scores, end and version; points sent and the version that was registered now."""
    from flows.runrecord import RunRecord

    record = runfile.read(workspace)
    assert record is not None
    done = record["state"] == "done"
    opened = RunRecord(tracking, workspace, record)
    sent = opened.send_curves()
    scores, artifacts = (summary.scores(workspace), summary.lineage(workspace)) if done else ({}, [])
    opened.close(STATUS[record["state"]], scores, artifacts)
    version = register_late(project, tracking, workspace, record, opened.mlflow_run_id) if done else None
    runfile.update(workspace, recorded=True, mlflow_run_id=opened.mlflow_run_id)
    return sent, version


def register_late(
    project: Project, tracking: Any, workspace: Path, record: dict[str, Any], mlflow_run_id: str
) -> int | None:
    """Registers what was trained and not registered, and writes it into the run's own record."""
    from flows.registry import register

    result = record.get("result") or {}
    if result.get("registered"):
        return None
    made = register(project, tracking, mlflow_run_id, workspace, record)
    runfile.set_stage(workspace, "register", state="done", detail="", mlflow_run_id=mlflow_run_id, **asdict(made))
    told = {name: getattr(made, name) for name in ("name", "version", "aliases", "champion")}
    result |= {"registered": told, "mlflow_run_id": mlflow_run_id, "recorded": True}
    runfile.update(workspace, result=result, message=None)
    return made.version


def at_start(project: Project, say: Say) -> None:
    """Brings pending runs level before something new begins; a server that is down costs two seconds."""
    from flows.errors import ServiceDownError

    if pending(project):
        try:
            sync(project, say)
        except ServiceDownError as error:
            say(f"{len(pending(project))} runs wait for MLflow: {error}")
