"""Whether a process serves the queue, by its own heartbeats in the ledger."""

import time

from flows.addresses import prefect_url
from flows.health import Service
from flows.ledger import Ledger, LedgerError, Worker
from flows.process import boot_id
from flows.project import Project

FRESH_S = 45.0  # the oldest heartbeat of a worker that is taken to live


def worker_service(project: Project) -> Service:
    """The worker as a service: up while one beats."""
    try:
        workers = Ledger(project).workers()
    except LedgerError as error:
        return Service(name="Worker", url=prefect_url(), up=False, detail=f"is not known: {error}")
    serving = next((worker for worker in workers if is_up(worker)), None)
    if serving is None:
        return Service(name="Worker", url=prefect_url(), up=False, detail="is missing: no process serves the queue")
    return Service(
        name="Worker", url=prefect_url(), up=True, detail=f"serves the queue as process {serving.process.pid}"
    )


def is_up(worker: Worker) -> bool:
    """It counts by its heartbeat, for one that hangs starts nothing; on this machine its process has to live too."""
    owner = worker.process
    if owner.boot_id == boot_id() and owner.is_here() and not owner.lives():
        return False
    return abs(time.time() - worker.beat_at) < FRESH_S  # one from the future is older than a clock that was set back
