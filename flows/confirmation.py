"""What a cancel has to show in the end: no process, a whole checkpoint, the memory back, both servers told."""

from collections.abc import Callable
from contextlib import suppress

import psutil

from flows import runfile
from flows.errors import ServiceDownError
from flows.ledger import Attempt, Ledger, LedgerError
from flows.process import Process, session
from flows.project import Project
from model.amount import amount
from model.manifest import latest

Prove = Callable[[str], None]
REASON = "cancelled"


def confirm(project: Project, attempt: Attempt, found: list[Process], used_bytes: int, prove: Prove) -> None:
    """Adds the closing lines of the proof; `found` are the run's processes and `used_bytes` what they held."""
    left = [process for process in found if process.lives()]
    left += session(attempt.group) if attempt.group else []
    if left:
        prove(f"still alive: process {', '.join(str(process.pid) for process in left)}")
    else:
        prove(f"{len(found)} processes ended" if len(found) != 1 else "1 process ended")
    verify(project, attempt, prove)
    if not left:
        prove(f"memory is back: {amount(used_bytes)} freed")
    tell(project, attempt, prove)


def confirm_from_afar(project: Project, attempt: Attempt, prove: Prove) -> None:
    """The closing lines where the run's processes cannot be seen; its lock is free, which the kernel answers for."""
    prove("no process holds the run any more")
    verify(project, attempt, prove)
    tell(project, attempt, prove)


def verify(project: Project, attempt: Attempt, prove: Prove) -> None:
    newest = latest(project.workspace(attempt.run_id) / "checkpoints")
    prove(f"checkpoint {newest.step} verified" if newest else "no checkpoint was written yet")


def tell(project: Project, attempt: Attempt, prove: Prove) -> None:
    """Tells both servers; the ledger keeps for later what one of them did not take."""
    told = {"mlflow": tell_mlflow(project, attempt, prove), "prefect": tell_prefect(project, attempt, prove)}
    if untold := [service for service, knows in told.items() if not knows]:
        with suppress(LedgerError):
            Ledger(project).end(attempt.run_id, attempt.attempt, REASON, untold)


def tell_mlflow(project: Project, attempt: Attempt, prove: Prove) -> bool:
    """MLflow's run ends as KILLED; False where MLflow does not answer, which the ledger keeps for later."""
    from flows.tracking import OUTAGE, close_run  # takes seconds, which the signals must not wait for

    try:
        known = close_run(project, attempt.run_id, "KILLED", REASON)
    except OUTAGE:
        prove("MLflow does not answer: it learns of the end later")
        return False
    prove("MLflow run killed" if known else "MLflow has no run to kill")
    return True


def tell_prefect(project: Project, attempt: Attempt, prove: Prove) -> bool:
    """Prefect's flow run ends as cancelled; False where Prefect does not answer: the worker sets it right later."""
    flow_run_id = (runfile.read(project.workspace(attempt.run_id)) or {}).get("flow_run_id")
    if flow_run_id is None:
        return True
    from flows import queue  # as above

    try:
        queue.end(flow_run_id, "cancelled", REASON)
    except ServiceDownError:
        prove("Prefect does not answer: it learns of the end later")
        return False
    prove("Prefect run cancelled")
    return True


def memory_bytes(process: Process) -> int:
    """What a process alone holds, and so what its end gives back."""
    try:
        return int(psutil.Process(process.pid).memory_full_info().uss)
    except psutil.Error:
        return 0
