"""`run.json` in a run workspace: what was asked, where the run stands, what came of it.

Which process runs it is not told here but in the ledger.
"""

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from filelock import FileLock

from flows.errors import ResourceError
from flows.project import Project
from flows.recordshape import problem

NAME = "run.json"
RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")
OF_THE_FILE = (errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP)  # others may pass by themselves
ENDED = ("done", "failed", "crashed", "cancelled")
MOST_LETTERS = 60  # of a text that is no run id, where one says so


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_run_id() -> str:
    """An id that sorts by the time of asking: date, time (UTC) and six random hex digits."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(3)}"


def check_run_id(run_id: str) -> str:
    if not RUN_ID.fullmatch(run_id):
        said = run_id if len(run_id) <= MOST_LETTERS else f"{run_id[:MOST_LETTERS]}…"  # links can be longer than a page
        raise ValueError(f"run id {said!r}: expected YYYYMMDD-HHMMSS-xxxxxx, such as 20261130-071502-4f2a9c")
    return run_id


def read(workspace: Path) -> dict[str, Any] | None:
    """The run's record, None where the workspace is not (yet) complete.

    Raises ValueError naming the file, and the value, when it is no record.
    """
    path = workspace / NAME
    try:
        if path.exists() and not path.is_file():  # to read a pipe would be to wait for ever
            raise ValueError("it is no file")
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read as a run's record: {error}") from None
    except OSError as error:
        if error.errno not in OF_THE_FILE:
            raise
        raise ValueError(f"{path} cannot be read as a run's record: {error.strerror}") from None
    if wrong := problem(found):
        raise ValueError(f"{path} cannot be read as a run's record: {wrong}")
    return dict(found)


def write(workspace: Path, record: dict[str, Any]) -> None:
    """Replaces the record in one step, so that a reader never sees half of it."""
    part = workspace / f".{NAME}.{os.getpid()}"
    try:
        part.write_text(json.dumps(record, indent=1), encoding="utf-8")
        part.replace(workspace / NAME)
    except OSError:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def claimed(project: Project, run_id: str) -> Iterator[None]:
    """Keeps everyone else from making, starting or cancelling this run meanwhile."""
    project.make_state()
    with FileLock(project.locks / f"{run_id}.lock"):
        yield


def update(workspace: Path, **changes: Any) -> dict[str, Any]:
    """Changes some of the record, whoever else changes other parts of it meanwhile."""
    with writing(workspace):
        record = (read(workspace) or {}) | changes
        write(workspace, record)
    return record


def set_stage(workspace: Path, stage: str, **changes: Any) -> None:
    with writing(workspace):
        record = read(workspace) or {}
        stages = record.setdefault("stages", {})
        stages[stage] = stages.get(stage, {}) | changes
        write(workspace, record)


def prove(workspace: Path, line: str) -> None:
    """Adds a line to what is known of a cancel."""
    with writing(workspace):
        record = read(workspace) or {}
        write(workspace, record | {"proof": [*record.get("proof", []), line]})


def writing(workspace: Path) -> FileLock:
    """Keeps two writers of one record from losing each other's changes.

    Raises ResourceError where somebody has deleted the run's folder, which the lock would make anew.
    """
    if not workspace.is_dir():
        raise ResourceError(f"the folder of run {workspace.name} is gone ({workspace}); nothing else was touched")
    return FileLock(workspace / f".{NAME}.lock")
