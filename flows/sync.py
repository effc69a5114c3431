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
OF_ONE_RUN = (FileNotFoundError, IsADirectoryError, PermissionError, ValueError)  # its own files: the others go on
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
    """Records of such runs."""
    return (record for record in ended(project) if not is_recorded(record))


def recorded(project: Project) -> Iterator[dict[str, Any]]:
    """Records of the ended runs that MLflow took whole."""
    return (record for record in ended(project) if is_recorded(record))


def is_recorded(record: dict[str, Any]) -> bool:
    """A run from before it was written down counts as recorded when it has a result."""
    return bool(record.get("recorded", (record.get("result") or {}).get("mlflow_run_id")))


def ended(project: Project) -> Iterator[dict[str, Any]]:
    """Records of the ended runs that began, oldest first; a damaged one is passed over."""
    for workspace in sorted(path for path in project.runs.glob("*") if runfile.RUN_ID.fullmatch(path.name)):
        with suppress(ValueError):
            record = runfile.read(workspace)
            if record and record["state"] in runfile.ENDED and record.get("started_ms"):
                yield record


def lost(project: Project, tracking: Any) -> Iterator[dict[str, Any]]:
    """Records of runs that MLflow took once and has no more, or has without their version: its database was lost."""
    from flows.registry import find_version
    from flows.tracking import known_runs

    known = known_runs(tracking)
    for record in recorded(project):
        name = ((record.get("result") or {}).get("registered") or {}).get("name")
        if record["run_id"] not in known or (name and find_version(tracking, name, record["run_id"]) is None):
            yield record


def sync(project: Project, say: Say, again: bool = False) -> Synced:
    """Brings all pending runs level, and with `again` those that MLflow has lost.

    Raises ServiceDownError when MLflow does not answer.
    """
    from flows.runrecord import recording
    from flows.tracking import OUTAGE, first_line, is_of_one_run

    runs: list[str] = []
    points, versions, notes, damaged = 0, [], [], []
    with asked(project) as tracking:
        for record in [*unrecorded(project), *(lost(project, tracking) if again else ())]:
            run_id = record["run_id"]
            if is_held(project, run_id):
                continue
            try:
                held = leases.held(project, f"run:{run_id}", "its record is being brought level")
                with held, recording(project, run_id).acquire(timeout=1.0):
                    sent, version = bring(project, tracking, project.workspace(run_id), again)
            except Timeout:
                notes.append(f"run {run_id}: another process is writing its record")
                continue
            except (*OF_ONE_RUN, *OUTAGE) as error:
                if not (isinstance(error, OF_ONE_RUN) or is_of_one_run(error)):
                    raise
                notes.append(f"run {run_id}: cannot be brought level: {first_line(error)}")
                damaged.append(run_id)
                continue
            runs.append(run_id)
            points += sent
            versions += [] if version is None else [version]
            what = "" if version is None else f", registered as version {version}"
            say(f"MLflow is level with run {run_id}: {sent} points sent{what}")
    return Synced(runs=tuple(runs), points=points, versions=tuple(versions), notes=tuple(notes), damaged=tuple(damaged))


def bring(project: Project, tracking: Any, workspace: Path, again: bool = False) -> tuple[int, int | None]:
    """One run's points, scores, end and version; points sent and the version that was registered now."""
    from flows.runrecord import RunRecord

    record = runfile.read(workspace)
    assert record is not None
    done = record["state"] == "done"
    opened = RunRecord(tracking, workspace, record)
    sent = opened.send_curves()
    scores, artifacts = told(workspace) if done else ({}, [])
    opened.close(STATUS[record["state"]], scores, artifacts)
    version = register_late(project, tracking, workspace, record, opened.mlflow_run_id, again) if done else None
    runfile.update(workspace, recorded=True, mlflow_run_id=opened.mlflow_run_id)
    return sent, version


def told(workspace: Path) -> tuple[dict[str, float], list[Path]]:
    """What MLflow is told of a finished run beside its curves. Raises ValueError where a report is damaged."""
    try:
        return summary.scores(workspace), summary.lineage(workspace)
    except (KeyError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"a report in {workspace / 'artifacts'} is not as its stage wrote it ({what})") from None


def register_late(
    project: Project, tracking: Any, workspace: Path, record: dict[str, Any], mlflow_run_id: str, again: bool
) -> int | None:
    """Registers what was trained and not registered, or is so no more, and writes it into the run's own record."""
    from flows.registry import register

    result = record.get("result") or {}
    if result.get("registered") and not again:
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
