"""A cancel of a run whose processes are in another container: who asked sees to it that its proof comes to its end.

A container ends with its first process, and so may whoever carries the cancel out.
"""

import time
from contextlib import suppress
from functools import partial
from typing import Any

from filelock import Timeout

from flows import runfile
from flows.burial import bury
from flows.confirmation import confirm_from_afar
from flows.ledger import Attempt
from flows.life import cancel_lock, is_held, newest
from flows.process import boot_id
from flows.project import Project

END_S = 22.0  # for a run to end by itself or by its own cancel
PROVE_S = 8.0  # for whoever is left beside it to write the proof


def is_wanted(project: Project, run_id: str) -> bool:
    """Whether the end is still asked for and not proved; a further attempt, which has begun meanwhile, is not meant."""
    record = runfile.read(project.workspace(run_id)) or {}
    return bool(record.get("cancel_asked_at")) and not record.get("proved")


def is_open(record: dict[str, Any]) -> bool:
    """Whether the proof of a cancelled run has no end; versions before told nothing of that."""
    return record.get("state") == "cancelled" and bool(record.get("cancel_asked_at")) and record.get("proved") is False


def witness(project: Project, run_id: str) -> None:
    """Waits for the end and its proof, and closes the proof where nobody is left to do it.

    Only on this machine, whose kernel takes the run's lock back from the dead; of another one its lock tells nothing.
    """
    attempt = newest(project, run_id)
    if attempt is None or attempt.process.is_here() or attempt.process.boot_id != boot_id():
        return
    deadline = time.monotonic() + END_S
    while is_held(project, run_id) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(PROVE_S)
    with suppress(Timeout), cancel_lock(project, run_id).acquire(timeout=PROVE_S):
        if is_wanted(project, run_id) and not is_held(project, run_id):
            close(project, attempt)


def close(project: Project, attempt: Attempt) -> None:
    """Brings the proof to its end of a run that has ended without whoever was to carry its end out."""
    workspace = project.workspace(attempt.run_id)
    write_down(project, attempt)
    confirm_from_afar(project, attempt, partial(runfile.prove, workspace))
    runfile.update(workspace, proved=True)


def write_down(project: Project, attempt: Attempt) -> None:
    """Writes down the end of a run whose process did not come to do it."""
    with runfile.claimed(project, attempt.run_id):
        record = runfile.read(project.workspace(attempt.run_id)) or {}
        if record.get("state") == "running" and not is_held(project, attempt.run_id):
            bury(project, attempt.run_id, "cancelled")
