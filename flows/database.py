"""The files of MLflow and of Prefect: whether they are damaged, and what to do then."""

import sqlite3
from contextlib import closing

from flows import models
from flows.errors import ServiceDownError
from flows.ledgerfile import DAMAGED
from flows.project import Project

BUSY_S = 1.0


def damage(project: Project) -> str:
    """One sentence on Prefect's file, with the remedy; empty where it is whole, busy or not there.

    What waits in the queue is not lost with it.
    """
    path = project.state / "prefect" / "prefect.db"
    if not path.is_file():
        return ""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", timeout=BUSY_S, uri=True)) as file:
            found = str(file.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        found = str(error) if getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED else "ok"
    what = f"Prefect's database {path} is damaged ({found})"
    remedy = f"move it away with all that is named {path.name}* beside it; Prefect makes another, and the worker queues"
    return "" if found == "ok" else f"{what}: {remedy} the waiting runs again, which {project.runs} keeps"


def open_record(project: Project) -> None:
    """Makes MLflow's file sure before its server opens it. Raises ServiceDownError with the remedy."""
    from flows import tracking  # MLflow's library: seconds, and seldom needed

    try:
        tracking.client(project, tracking.file_uri(project))
    except tracking.OUTAGE as error:
        reason = tracking.first_line(error)
        raise ServiceDownError(f"MLflow cannot open its record ({reason}); {models.remedy(project, reason)}") from error
