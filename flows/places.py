"""Places in the queue: who is next, and why a run waits."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from flows.project import Project
from flows.workers import worker_service

NO_PREFECT, NO_WORKER = "Prefect does not answer", "no worker answers"


def in_order(records: Iterable[dict[str, Any]], due: Mapping[str, datetime]) -> list[dict[str, Any]]:
    """Waiting runs in the order in which Prefect starts them, by when each is `due` there.

    Those that it does not have come last, in the order in which they, or their newest attempts, were asked for.
    """

    def place(record: dict[str, Any]) -> tuple[bool, datetime, str]:
        asked = datetime.fromisoformat(record.get("asked_at") or record["created_at"])
        return record["run_id"] not in due, due.get(record["run_id"], asked), record["run_id"]

    return sorted(records, key=place)


def nobody_starts(project: Project, prefect_answers: bool) -> str | None:
    """Why no run of the queue can start now, whatever is ahead of it; None when a worker asks for the next."""
    if not prefect_answers:
        return NO_PREFECT
    return None if worker_service(project).up else NO_WORKER


def places(waiting: list[dict[str, Any]], running: list[str], nobody: str | None) -> dict[str, tuple[int, str | None]]:
    """The place of each waiting run, and why it waits: for the run before it, or because `nobody` starts one."""
    found: dict[str, tuple[int, str | None]] = {}
    ahead = running[-1] if running else None
    for place, record in enumerate(waiting, 1):
        queued = nobody if record.get("door") == "queue" else None
        found[record["run_id"]] = (place, queued or (f"waits for run {ahead}" if ahead else None))
        ahead = record["run_id"]
    return found
