"""A cancel with proof: the run is told to save and end, what does not end is killed, and both are confirmed.

It works on the processes themselves, with every service down, and so where they are seen: in a process that the asking
one starts, or, where that one is in another container, the run's own; the asking one then sees to it that the proof
comes to its end. Each line of it is written down as it happens.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from filelock import Timeout

from flows import runfile
from flows.burial import wait_gone
from flows.confirmation import confirm, memory_bytes
from flows.errors import ResourceError
from flows.ledger import Attempt
from flows.life import cancel_lock, is_being_cancelled, is_held, newest
from flows.process import Process, descendants, session
from flows.project import Project, find_project
from flows.stages import environment
from flows.witness import close, is_wanted, witness, write_down

# For a stage to save, for the run to write down its end, for its process to leave, for the kernel to kill.
SAVE_S, END_S, LEAVE_S, KILL_S = 6.0, 4.0, 8.0, 2.0
UNKNOWN = (
    "which process runs it is not known, since neither the ledger nor the note beside its lock can be read; it ends by "
    "itself before its next stage; cancel it again in 10 seconds, or end its process yourself"
)
Prove = Callable[[str], None]


def ask(project: Project, run_id: str) -> str:
    """Asks for the end of a running run; what was done about it. Who asks again starts what came to no end.

    Raises ResourceError where nobody could be told.
    """
    workspace, attempt = project.workspace(run_id), newest(project, run_id)
    elsewhere = attempt is not None and not attempt.process.is_here()
    with runfile.claimed(project, run_id):
        again = (runfile.read(workspace) or {}).get("cancel_asked_at")
        if again and is_being_cancelled(project, run_id):
            return "its end was asked for already, and is being carried out"
        runfile.update(workspace, cancel_asked_at=again or runfile.now(), asked_elsewhere=elsewhere, proved=False)
        runfile.prove(workspace, f"asked {'again ' if again else ''}{clock()}")
    if attempt is None or not (elsewhere or attempt.process.lives()):
        raise ResourceError(f"run {run_id} could not be told to end: {UNKNOWN}")
    start(project, run_id)
    if elsewhere:
        return f"asked its own process, on {attempt.process.host}, to end it"
    return "told its processes to save and end"


def start(project: Project, run_id: str) -> None:
    """Carries the cancel out in a process that outlives the asking one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.cancellation", run_id],
        cwd=project.root,
        env=environment(project) | {"PIVOTLINE_PROJECT": str(project.root)},
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    threading.Thread(target=process.wait, name="cancellation", daemon=True).start()  # a long-lived page keeps no zombie


def carry_out(project: Project, run_id: str) -> None:
    """Ends the run's processes, those that ignore signals too, and proves it; one process at a time does this."""
    prove = partial(runfile.prove, project.workspace(run_id))
    with suppress(Timeout), cancel_lock(project, run_id).acquire(timeout=0):
        attempt = newest(project, run_id)
        if attempt is None or not attempt.process.is_here() or not is_wanted(project, run_id):
            return
        found = processes(attempt)
        if not found and not is_held(project, run_id):
            return close(project, attempt)
        used_bytes = sum(memory_bytes(process) for process in found)
        tell(attempt)
        end_stage(attempt, prove)
        found += [process for process in end_run(project, attempt, prove) if process not in found]
        confirm(project, attempt, found, used_bytes, prove)
        runfile.update(project.workspace(run_id), proved=True)


def processes(attempt: Attempt) -> list[Process]:
    """The living processes of a run: the one that runs it, all that it started, and its stage's session.

    Not this one, which the run itself starts when the end is asked for from another container.
    """
    found = [attempt.process] if attempt.process.lives() else []
    found += [process for process in descendants(attempt.process) if process.pid != os.getpid()]
    if attempt.group:
        found += [process for process in session(attempt.group) if process not in found]
    return found


def tell(attempt: Attempt) -> None:
    """SIGTERM to the stage, which saves; to the run's own process where no stage has one."""
    stage = session(attempt.group) if attempt.group else []
    for process in stage or [attempt.process]:
        send(process, signal.SIGTERM)


def end_stage(attempt: Attempt, prove: Prove) -> None:
    """Waits for the stage to save and end, and kills what is left of it."""
    if attempt.group is None:
        return
    deadline, what = time.monotonic() + SAVE_S, "training" if attempt.stage == "train" else attempt.stage
    while left := session(attempt.group):
        if time.monotonic() > deadline:
            for process in left:
                send(process, signal.SIGKILL)
            wait_gone(left, KILL_S)
            return prove(f"{what} did not end within {SAVE_S:.0f} s: killed {clock()}")
        time.sleep(0.05)
    return prove(f"{what} stopped {clock()}")


def end_run(project: Project, attempt: Attempt, prove: Prove) -> list[Process]:
    """Waits until the run's process has written down its end and is gone, or kills it; returns its processes."""
    found = processes(attempt)
    if not ended_within(project, attempt, END_S):
        send(attempt.process, signal.SIGTERM)
    if not (ended_within(project, attempt, END_S) and wait_gone(processes(attempt), LEAVE_S)):
        left = processes(attempt)
        for process in left:
            send(process, signal.SIGKILL)
        wait_gone(left, KILL_S)
        prove(f"process {attempt.process.pid} did not end: killed {clock()}")
    wait_free(project, attempt.run_id)
    write_down(project, attempt)
    return found


def wait_free(project: Project, run_id: str) -> None:
    """The kernel takes the lock back from a killed process a moment after that has ended, with its last thread."""
    deadline = time.monotonic() + KILL_S
    while is_held(project, run_id) and time.monotonic() < deadline:
        time.sleep(0.05)


def ended_within(project: Project, attempt: Attempt, wait_s: float) -> bool:
    """Whether the run's process lets go of the run in time."""
    deadline = time.monotonic() + wait_s
    while is_held(project, attempt.run_id) and attempt.process.lives():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def send(process: Process, sign: int) -> None:
    if process.lives():
        with suppress(ProcessLookupError):
            os.kill(process.pid, sign)


def clock() -> str:
    return f"{datetime.now(UTC):%H:%M:%S}"


if __name__ == "__main__":
    carry_out(find_project(), runfile.check_run_id(sys.argv[1]))
    witness(find_project(), sys.argv[1])
