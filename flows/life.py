"""Whether the process of a run lives: by the lock it holds, by the process table, and only then by its heartbeat."""

import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from flows import holder, runfile
from flows.ledger import Attempt, Ledger, LedgerError
from flows.process import Process, boot_id
from flows.project import Project

UNBEGUN, UNBEGUN_S = "the process that asked for it ended before it began", 120.0  # seconds after it was frozen
GONE = "its process ended without a word"
COPIED = "this state folder is a copy, and no process runs it here"


def run_lock(project: Project, run_id: str) -> FileLock:
    """What the process of a run holds as long as it lives; the kernel takes it back from the dead."""
    return FileLock(project.locks / f"{run_id}.run.lock")


def cancel_lock(project: Project, run_id: str) -> FileLock:
    """What is held while a run is being cancelled, to the last line of the proof."""
    return FileLock(project.locks / f"{run_id}.cancel.lock")


def is_held(project: Project, run_id: str) -> bool:
    """Whether a process of this machine, in whichever container, runs the run."""
    return is_taken(run_lock(project, run_id))


def is_being_cancelled(project: Project, run_id: str) -> bool:
    """Whether a process of this machine carries a cancel of the run out."""
    return is_taken(cancel_lock(project, run_id))


def is_taken(lock: FileLock) -> bool:
    if not Path(lock.lock_file).exists():
        return False
    try:
        with lock.acquire(timeout=0):
            return False
    except (Timeout, PermissionError):  # one of another user's that we may not open is taken to be held
        return True


def death(project: Project, run_id: str, attempt: Attempt | None) -> str | None:
    """Why the process of a running run is certainly dead; None when it lives, or where only its heartbeat can tell.

    A run of which nothing more is known is known by its lock alone.
    """
    if is_held(project, run_id):
        return None
    if attempt is None or attempt.ended_at:
        return COPIED if attempt is None and is_copy(project, run_id) else GONE
    owner = attempt.process
    if owner.boot_id == boot_id():  # one kernel, so one set of locks, however many containers
        return (
            None if owner.is_here() and owner.lives() else f"process {owner.pid} ended without a word{where(attempt)}"
        )
    return "the machine was started anew while it ran" if owner.host == socket.gethostname() else None


def unbegun(project: Project, record: dict[str, Any]) -> str | None:
    """Why a run that waits for the process that asked for it will never begin; None where it may, or is the queue's.

    Of an asking process elsewhere, or of an older version, only the time is known.
    """
    if record.get("door") != "here" or is_held(project, record["run_id"]):
        return None
    with suppress(TypeError):
        asker = Process.told(record.get("asker"))
        if asker.is_here():
            return None if asker.lives() else UNBEGUN
    asked = datetime.fromisoformat(record.get("asked_at") or record["created_at"])
    return UNBEGUN if (datetime.now(UTC) - asked).total_seconds() > UNBEGUN_S else None


def where(attempt: Attempt) -> str:
    return f" in {attempt.stage}" if attempt.stage else ""


def newest(project: Project, run_id: str) -> Attempt | None:
    """The latest attempt as the ledger knows it, or as the process that holds the run noted it: whoever knows more.

    What they were told in the folder that ours is a copy of counts for nothing: processes that we see are not ours.
    """
    told = [holder.noted(project, run_id)]
    with suppress(LedgerError):
        told.append(Ledger(project).newest(run_id))
    copied = is_copy(project, run_id)
    known = [found for found in told if found and not (copied and is_of_this_boot(found.process))]
    return max(known, key=lambda found: (found.attempt, bool(found.ended_at), found.beat_at), default=None)


def is_copy(project: Project, run_id: str) -> bool:
    """Whether the run was begun in another state folder, of which this one is a copy."""
    with suppress(ValueError, FileNotFoundError):
        begun = (runfile.read(project.workspace(run_id)) or {}).get("folder")
        return begun not in (None, project.identity())
    return False


def is_of_this_boot(process: Process) -> bool:
    return process.boot_id == boot_id() and process.is_here()
