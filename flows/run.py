"""One run from the first stage to the registry, the same through every door."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from flows import owner, runfile, summary
from flows.burial import OFFER
from flows.errors import CancelledError, ServiceDownError, StageKilledError, classify
from flows.keeper import Keeper, holding
from flows.progress import duration, size_text
from flows.project import Project
from flows.prune import prune
from flows.registry import register
from flows.stages import STAGES, run_stage
from flows.tracking import OUTAGE, Recorder

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
    and raised again, as CancelledError where somebody asked for the end.

    Raises ValueError when another process runs this run.
    """
    with holding(project, workspace.name):
        record = begin(project, workspace, facts)
        recorder = Recorder(project, workspace, record, say)
        with Keeper(project, workspace, record["attempt"], say, recorder) as keeper:
            recorder.start()
            try:
                result = steps(project, workspace, step, record, recorder, keeper)
            except BaseException as error:
                state = end_early(workspace, recorder, error)
                keeper.reason = state
                if state == "cancelled" and isinstance(error, Exception):
                    raise CancelledError(f"run {workspace.name} was cancelled") from error
                raise
            runfile.update(workspace, state="done", ended_at=runfile.now(), result=result)
            keeper.reason = "done"
            return result


def steps(
    project: Project, workspace: Path, step: Step, record: dict[str, Any], recorder: Recorder, keeper: Keeper
) -> dict[str, Any]:
    """All steps in order, each known to the ledger before it begins."""

    def go(name: str, body: Callable[[Say], Outcome]) -> Outcome:
        keeper.enters(name)
        if (runfile.read(workspace) or {}).get("cancel_asked_at"):
            raise CancelledError(f"run {workspace.name} was cancelled")
        return tracked(workspace, step, name, body)

    for stage in STAGES:
        go(stage, partial(stage_outcome, project, workspace, record, keeper, stage))
    recorder.finish("FINISHED", summary.scores(workspace), summary.lineage(workspace))
    registered = go("register", partial(register_outcome, project, recorder, workspace, record))
    go("prune", partial(prune_outcome, workspace, record))
    return summary.result(workspace, registered)


def begin(project: Project, workspace: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Writes down that the run runs. Raises CancelledError when it was cancelled in the queue.

    The record in MLflow counts its times from the first attempt on.
    """
    started = datetime.now(UTC)
    with runfile.claimed(project, workspace.name):
        record = runfile.read(workspace) or {}
        if record.get("state") in runfile.ENDED:
            raise CancelledError(f"run {workspace.name} was {record['state']} before it started")
        return runfile.update(
            workspace,
            state="running",
            attempt=record.get("attempt", 1),
            started_at=started.isoformat(timespec="milliseconds"),
            ended_at=None,
            started_ms=record.get("started_ms") or int(started.timestamp() * 1000),
            message=None,
            **facts,
        )


def tracked(workspace: Path, step: Step, name: str, body: Callable[[Say], Outcome]) -> Outcome:
    """Runs one step and keeps its state in `run.json`: running, then done, cached or failed."""
    runfile.set_stage(workspace, name, state="running", started_at=runfile.now())
    try:
        outcome = step(name, body)
    except BaseException as error:
        state, message = ended_as(workspace, error)
        runfile.set_stage(workspace, name, state=state, detail="" if state == "cancelled" else message)
        raise
    runfile.set_stage(workspace, name, **outcome)
    return outcome


def stage_outcome(
    project: Project, workspace: Path, record: dict[str, Any], keeper: Keeper, stage: str, say: Say
) -> Outcome:
    resume = bool(record.get("resume"))
    result = run_stage(project, workspace, stage, say, resume=resume, started=keeper.started)
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


def prune_outcome(workspace: Path, record: dict[str, Any], say: Say) -> Outcome:
    best_step = summary.read(workspace, "train")["best_step"]
    done = prune(workspace / "checkpoints", record["params"]["prune"]["keep_last"], best_step)
    say(f"{done.kept} checkpoints kept, {done.removed} removed, {size_text(done.freed_bytes)} freed")
    return {"state": "done", **asdict(done)}


def end_early(workspace: Path, recorder: Recorder, error: BaseException) -> str:
    """Writes down why a run ended before its end, and returns as what.

    Cancelled when it was asked for or a signal came, crashed when a process was killed under it, failed for an error.
    """
    state, message = ended_as(workspace, error)
    runfile.update(workspace, state=state, ended_at=runfile.now(), message=message)
    recorder.finish("KILLED" if state == "cancelled" else "FAILED", {}, [])
    return state


def ended_as(workspace: Path, error: BaseException) -> tuple[str, str]:
    if (runfile.read(workspace) or {}).get("cancel_asked_at"):
        return "cancelled", "cancelled"
    if owner.is_gone():
        return "crashed", f"the worker that ran it ended; {OFFER}"
    if isinstance(error, StageKilledError):
        return "crashed", str(error)
    return ("failed", classify(error).message) if isinstance(error, Exception) else ("cancelled", "cancelled")
