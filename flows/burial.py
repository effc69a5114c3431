"""What is done for a run whose process died: what it left running is ended, and its end is written down."""

import os
import signal
import time
from contextlib import suppress
from typing import Any

from flows import holder, runfile
from flows.ledger import Attempt, Ledger, LedgerError
from flows.life import newest
from flows.memory_kills import suspicion
from flows.process import Process, boot_id, session
from flows.project import Project

WAIT_S = 5.0
BUSY_S = 1.0  # one try's wait for a ledger that another process holds
ASKED = "as it was asked for"
OFFER = "`pivotline resume` goes on from its newest checkpoint"


def bury(project: Project, run_id: str, reason: str) -> dict[str, Any]:
    """Writes down that a running run crashed, or was cancelled where that was asked for; returns its record.

    Only for a run that the caller has claimed. Prefect and MLflow learn of it later, by what the ledger keeps for them.
    """
    workspace, attempt = project.workspace(run_id), newest(project, run_id)
    if attempt:
        end_session(attempt)
    holder.forget(project, run_id)
    record = runfile.read(workspace) or {}
    if attempt and attempt.process.boot_id == boot_id():
        reason += suspicion(record)
    asked = record.get("cancel_asked_at")
    state, message = ("cancelled", ASKED) if asked else ("crashed", f"{reason}; {OFFER}")
    record = runfile.update(workspace, state=state, ended_at=runfile.now(), message=message)
    if attempt:
        untold = ("mlflow", "prefect") if record.get("flow_run_id") else ("mlflow",)
        with suppress(LedgerError):  # the record counts; the next worker closes what is left open
            Ledger(project, BUSY_S).end(run_id, attempt.attempt, reason, untold)
    return record


def end_session(attempt: Attempt) -> int:
    """Kills what an attempt left running on this machine; how many processes that were."""
    if attempt.group is None or not attempt.group.is_here():
        return 0
    left = session(attempt.group)
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    wait_gone(left, WAIT_S)
    return len(left)


def wait_gone(processes: list[Process], wait_s: float) -> bool:
    """Waits until none of the processes lives; False when `wait_s` runs out first."""
    deadline = time.monotonic() + wait_s
    while any(process.lives() for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
