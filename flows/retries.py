"""Further attempts that a crashed run gets by itself: from its newest checkpoint, as often as `run.retries` allows.

Only a crash counts: what failed by its own input would fail again, and what was cancelled is not wanted.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from flows import runfile
from flows.attempt import renew
from flows.life import is_held
from flows.project import Project
from flows.reaper import records

LATEST = timedelta(days=1)  # a run that crashed earlier is left to people
Say = Callable[[str], None]


def retry_crashed(project: Project, say: Say) -> None:
    """Makes each run that crashed in the queue and has a retry left wait for its next attempt."""
    for record in records(project, ("crashed",)):
        allowed = record.get("door") == "queue" and left(record) > 0 and is_recent(record)
        if allowed and not is_held(project, record["run_id"]):
            again(project, record, say)


def left(record: dict[str, Any]) -> int:
    """Retries that the run has left; a run from before there were any has none."""
    return int(record["params"].get("run", {}).get("retries", 0)) - int(record.get("retried", 0))


def is_recent(record: dict[str, Any]) -> bool:
    """Whether it crashed not long ago; a record that does not say when is left to people too."""
    ended_at: str | None = record.get("ended_at")
    return ended_at is not None and datetime.now(UTC) - datetime.fromisoformat(ended_at) < LATEST


def again(project: Project, record: dict[str, Any], say: Say) -> None:
    run_id, number = record["run_id"], int(record.get("retried", 0)) + 1
    attempt = renew(project, run_id, resume=True, door="queue")["attempt"]
    why = f"retry {number} of {number - 1 + left(record)} after: {record.get('message') or 'a crash'}"
    runfile.update(project.workspace(run_id), retried=number, message=why)
    say(f"run {run_id}: attempt {attempt}, {why}")
