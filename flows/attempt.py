"""A further attempt of a run that ended early: from its newest checkpoint, or from the start."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from filelock import Timeout

from flows import runfile
from flows.burial import bury
from flows.life import cancel_lock, death, is_held, newest, unbegun
from flows.process import Process
from flows.project import Project

CANCEL_S = 20.0  # the longest that the end of a cancel is waited for
KEPT = ("done", "cached")  # stages that a further attempt need not do again


def renew(project: Project, run_id: str, *, resume: bool, door: str) -> dict[str, Any]:
    """Makes an ended run one that waits for its next attempt; its settings, source and data are those of the first.

    `door` is `queue` or `here`. Raises ValueError for a run that is not known, waits, runs or is done.
    """
    workspace = project.workspace(runfile.check_run_id(run_id))
    wish = "resume" if resume else "retry"
    with cancelled(project, run_id, wish), runfile.claimed(project, run_id):
        record = runfile.read(workspace)
        if record is None:
            raise ValueError(f"run {run_id}: not known here")
        record = settled(project, record)
        refuse(project, record, wish)
        return runfile.update(workspace, **next_attempt(record, resume, door))


@contextmanager
def cancelled(project: Project, run_id: str, wish: str) -> Iterator[None]:
    """Waits until a cancel has told everybody: what it still has to say would end the next attempt."""
    project.make_state()
    try:
        with cancel_lock(project, run_id).acquire(timeout=CANCEL_S):
            yield
    except Timeout:
        raise ValueError(f"run {run_id} is still being cancelled: {wish} it in a few seconds") from None


def settled(project: Project, record: dict[str, Any]) -> dict[str, Any]:
    """The record as it is once a death that nobody has noticed is written down."""
    run_id = record["run_id"]
    reason = unbegun(project, record) if record["state"] == "queued" else None
    reason = death(project, run_id, newest(project, run_id)) if record["state"] == "running" else reason
    return bury(project, run_id, reason) if reason else record


def refuse(project: Project, record: dict[str, Any], wish: str) -> None:
    run_id, state = record["run_id"], record["state"]
    if state in ("queued", "running", "done"):
        raise ValueError(f"run {run_id} is {state}: there is nothing to {wish}{who(project, run_id, state)}")
    if is_held(project, run_id):
        raise ValueError(f"run {run_id} is still ending: {wish} it in a few seconds")


def who(project: Project, run_id: str, state: str) -> str:
    """Which process runs it, where that is known."""
    attempt = newest(project, run_id) if state == "running" else None
    return f"; process {attempt.process.pid} on {attempt.process.host} runs it" if attempt else ""


def next_attempt(record: dict[str, Any], resume: bool, door: str) -> dict[str, Any]:
    stages = {
        name: stage if stage.get("state") in KEPT else {"state": "waiting"} for name, stage in record["stages"].items()
    }
    return {
        "state": "queued",
        "attempt": record.get("attempt", 1) + 1,
        "resume": resume,
        "door": door,
        "asker": Process.this().as_dict() if door == "here" else None,
        "asked_at": runfile.now(),
        "started_at": None,
        "ended_at": None,
        "flow_run_id": None,
        "message": None,
        "cancel_asked_at": None,
        "asked_elsewhere": False,
        "proof": [],
        "proved": False,
        "stages": stages,
    }
