"""One run from the first stage to the registry, the same through every door."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from flows import runfile, summary
from flows.errors import ServiceDownError, classify
from flows.params import load_params
from flows.progress import duration, size_text
from flows.project import Project
from flows.prune import prune_run
from flows.registry import register
from flows.stages import STAGES, run_stage
from flows.tracking import OUTAGE, Recorder


class CancelledError(Exception):
    """The run was cancelled while it waited."""


Say = Callable[[str], None]
Outcome = dict[str, Any]
Step = Callable[[str, Callable[[Say], Outcome]], Outcome]


def plainly(say: Say) -> Step:
    """Steps one after another in this process, each line under its step's name."""

    def step(name: str, body: Callable[[Say], Outcome]) -> Outcome:
        return body(lambda line: say(f"{name:<11} {line}"))

    return step


def execute(project: Project, workspace: Path, step: Step, say: Say, **facts: Any) -> dict[str, Any]:
    """Runs all stages, registers the model, prunes checkpoints; returns the result as `run.json` keeps it.

    `step(name, body)` runs one of them: plainly, or as a Prefect task. Whatever ends the run early is written down
    and raised again.
    """
    record = begin(project, workspace, facts)
    recorder = Recorder(project, workspace, record, say)
    recorder.start()
    try:
        for stage in STAGES:
            tracked(workspace, step, stage, partial(stage_outcome, project, workspace, stage))
        recorder.finish("FINISHED", summary.scores(workspace), summary.lineage(workspace))
        registered = tracked(
            workspace, step, "register", partial(register_outcome, project, recorder, workspace, record)
        )
        tracked(workspace, step, "prune", partial(prune_outcome, project, workspace))
    except BaseException as error:
        end_early(workspace, recorder, error)
        raise
    result = summary.result(workspace, registered)
    runfile.update(workspace, state="done", ended_at=runfile.now(), result=result)
    return result


def begin(project: Project, workspace: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Makes the run this process's own. Raises CancelledError when it was cancelled in the queue."""
    started = datetime.now(UTC)
    with runfile.claimed(project, workspace.name):
        if (runfile.read(workspace) or {}).get("state") == "cancelled":
            raise CancelledError(f"run {workspace.name} was cancelled before it started")
        return runfile.update(
            workspace,
            state="running",
            started_at=started.isoformat(timespec="milliseconds"),
            ended_at=None,
            started_ms=int(started.timestamp() * 1000),
            owner=runfile.this_process(),
            message=None,
            **facts,
        )


def tracked(workspace: Path, step: Step, name: str, body: Callable[[Say], Outcome]) -> Outcome:
    """Runs one step and keeps its state in `run.json`: running, then done, cached or failed."""
    runfile.set_stage(workspace, name, state="running", started_at=runfile.now())
    try:
        outcome = step(name, body)
    except BaseException as error:
        failed = isinstance(error, Exception)
        runfile.set_stage(
            workspace, name, state="failed" if failed else "cancelled", detail=classify(error).message if failed else ""
        )
        raise
    runfile.set_stage(workspace, name, **outcome)
    return outcome


def stage_outcome(project: Project, workspace: Path, stage: str, say: Say) -> Outcome:
    result = run_stage(project, workspace, stage, say)
    took = (
        f"restored from the cache in {result.elapsed_s:.1f} s"
        if result.cached
        else f"done in {duration(result.elapsed_s)}"
    )
    say(took)
    return {"state": "cached" if result.cached else "done", "elapsed_s": round(result.elapsed_s, 2)}


def register_outcome(
    project: Project, recorder: Recorder, workspace: Path, record: dict[str, Any], say: Say
) -> Outcome:
    """Registers the trained model, or says that it waits: a run whose record is down has trained all the same."""
    if recorder.offline or recorder.tracking is None or recorder.mlflow_run_id is None:
        raise ServiceDownError(unrecorded(workspace, recorder.offline or "it never answered"))
    try:
        done = register(project, recorder.tracking, recorder.mlflow_run_id, workspace, record)
    except OUTAGE as error:
        raise ServiceDownError(unrecorded(workspace, str(error).splitlines()[0])) from error
    say(f"{done.name} version {done.version}, alias {' and '.join(done.aliases)}: {done.champion}")
    return {"state": "done", "mlflow_run_id": recorder.mlflow_run_id, **asdict(done)}


def unrecorded(workspace: Path, reason: str) -> str:
    kept = f"model and curves are kept in {workspace}"
    return f"trained, not registered: MLflow did not take the model ({reason}); {kept}; run again once it does"


def prune_outcome(project: Project, workspace: Path, say: Say) -> Outcome:
    done = prune_run(project, workspace.name, load_params(workspace / "params.yaml").prune)
    say(f"{done.kept} checkpoints kept, {done.removed} removed, {size_text(done.freed_bytes)} freed")
    return {"state": "done", **asdict(done)}


def end_early(workspace: Path, recorder: Recorder, error: BaseException) -> None:
    """Writes down why a run ended: failed for an error, cancelled for a signal."""
    failed = isinstance(error, Exception)
    message = classify(error).message if failed else "cancelled"
    runfile.update(workspace, state="failed" if failed else "cancelled", ended_at=runfile.now(), message=message)
    recorder.finish("FAILED" if failed else "KILLED", {}, [])
