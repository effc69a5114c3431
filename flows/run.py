"""One run from the first stage to the registry, the same through every door."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from flows import cache_users, runfile, summary
from flows.ending import ended_as
from flows.errors import CancelledError
from flows.keeper import Keeper, holding
from flows.memory_kills import of_machine
from flows.params import load_params
from flows.patience import while_answering
from flows.progress import duration
from flows.project import Project
from flows.prune import prune_run
from flows.recorder import Recorder
from flows.registry import register
from flows.stages import STAGES, run_stage
from flows.tracking import OUTAGE, first_line, tracking_uri
from flows.workspace import ready
from model.amount import amount

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
        with Keeper(project, workspace, record["attempt"], say, recorder, record.get("flow_run_id")) as keeper:
            recorder.start()
            try:
                result = steps(project, workspace, step, record, recorder, keeper)
            except BaseException as error:  # a signal too: no end goes unwritten
                state = end_early(workspace, recorder, error)
                keeper.reason = state
                if state == "cancelled" and isinstance(error, Exception):
                    raise CancelledError(f"run {workspace.name} was cancelled") from error
                raise
            detail = (runfile.read(workspace) or {})["stages"]["register"].get("detail")
            recorded = {"recorded": result["recorded"], "message": None if result["recorded"] else detail}
            runfile.update(workspace, state="done", ended_at=runfile.now(), result=result, **recorded)
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

    cache_users.sign(project)  # a run that was asked for before there were notes
    ready(project, workspace)
    for stage in STAGES:
        go(stage, partial(stage_outcome, project, workspace, record, keeper, stage))
    recorder.finish("FINISHED", summary.scores(workspace), summary.lineage(workspace))
    registered = go("register", partial(register_outcome, project, recorder, workspace, record))
    go("prune", partial(prune_outcome, project, workspace))
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
            recorded=False,
            folder=project.identity(),
            memory_kills=of_machine(),
            **facts,
        )


def tracked(workspace: Path, step: Step, name: str, body: Callable[[Say], Outcome]) -> Outcome:
    """Runs one step and keeps its state in `run.json`: running, then done, cached or failed."""
    runfile.set_stage(workspace, name, state="running", started_at=runfile.now())
    try:
        outcome = step(name, body)
    except BaseException as error:  # a signal too, and it goes on its way
        state, message = ended_as(workspace, error)
        runfile.set_stage(workspace, name, state=state, detail="" if state == "cancelled" else message)
        raise
    runfile.set_stage(workspace, name, **outcome)
    return outcome


def stage_outcome(
    project: Project, workspace: Path, record: dict[str, Any], keeper: Keeper, stage: str, say: Say
) -> Outcome:
    resume = bool(record.get("resume"))
    fresh = bool(record.get("fresh")) and stage == "train"
    result = run_stage(project, workspace, stage, say, resume=resume, fresh=fresh, started=keeper.started)
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
    mlflow_run_id, reason = recorder.mlflow_run_id, recorder.offline
    if mlflow_run_id is None or reason is not None:
        return waiting(say, reason or "it never answered")
    work = partial(register, project, recorder.tracking, mlflow_run_id, workspace, record)
    try:
        done = while_answering(tracking_uri(project), work)
    except OUTAGE as error:
        return waiting(say, first_line(error))
    say(f"{done.name} version {done.version}, alias {' and '.join(done.aliases)}: {done.champion}")
    return {"state": "done", "mlflow_run_id": mlflow_run_id, **asdict(done)}


def waiting(say: Say, reason: str) -> Outcome:
    """The outcome of a registration that MLflow did not take; `pivotline sync` makes up for it."""
    said = f"trained, not recorded: MLflow did not take it ({reason})"
    say(f"{said}; `pivotline sync` records it once MLflow answers")
    return {"state": "waiting", "detail": said}


def prune_outcome(project: Project, workspace: Path, say: Say) -> Outcome:
    done = prune_run(project, workspace.name, load_params(workspace / "params.yaml").prune)
    kept = f"{done.kept} checkpoint{'' if done.kept == 1 else 's'} kept"
    say(f"{kept}, {done.removed} removed, {amount(done.freed_bytes)} freed")
    return {"state": "done", **asdict(done)}


def end_early(workspace: Path, recorder: Recorder, error: BaseException) -> str:
    """Writes down why a run ended before its end, and returns as what."""
    state, message = ended_as(workspace, error)
    runfile.update(workspace, state=state, ended_at=runfile.now(), message=message)
    recorder.finish("KILLED" if state == "cancelled" else "FAILED", {}, [])
    runfile.update(workspace, recorded=recorder.offline is None)
    return state
