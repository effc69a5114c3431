"""Where the servers are: where the environment says, else where the `pivotline up` of this state folder has them.

It writes that down at its start, so that a command in any shell finds servers on other ports than the usual ones.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

from filelock import FileLock, Timeout

from flows import runfile
from flows.process import Process
from flows.project import Project, find_project
from model.content import read_json

NAME = "up.json"
PREFECT_URL = "http://127.0.0.1:4200/api"
MOMENT_S = 1.0  # longer than it takes to write down who holds the lock


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """The addresses of a stack of this machine, the process that runs it and since when."""

    process: Process
    since: str
    app: str
    mlflow: str
    prefect: str
    folder: str = ""  # of the state, which a copy of the file is not in

    @classmethod
    def of_this(cls, app: str, mlflow: str, prefect: str) -> Self:
        return cls(process=Process.this(), since=runfile.now(), app=app, mlflow=mlflow, prefect=prefect)


@contextmanager
def alone(project: Project, stack: Stack) -> Iterator[None]:
    """Makes the state folder this stack's own, and tells its addresses meanwhile.

    Raises ValueError when another one has it, in whatever state.
    """
    project.make_state()
    lock = FileLock(project.locks / "up.lock")
    try:
        lock.acquire(timeout=MOMENT_S)
    except Timeout:
        raise ValueError(f"{project.state} has a stack already: {told(standing(project))}") from None
    try:
        write_down(project, stack)
        yield
    finally:
        with suppress(OSError):
            (project.state / NAME).unlink(missing_ok=True)
        lock.release()


def told(other: Stack | None) -> str:
    if other is None:
        return "another `pivotline up` runs on it"
    return f"process {other.process.pid} runs it since {other.since}, its page is {other.app}"


def write_down(project: Project, stack: Stack) -> None:
    part = project.state / f".{NAME}.part"
    values = {name: getattr(stack, name) for name in ("since", "app", "mlflow", "prefect")}
    values |= {"process": stack.process.as_dict(), "folder": project.identity()}
    part.write_text(json.dumps(values, indent=1), encoding="utf-8")
    part.replace(project.state / NAME)


def standing(project: Project) -> Stack | None:
    """The stack whose process lives; None where there is none that we can tell of."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        found = read_json(project.state / NAME)
        stack = Stack(**found | {"process": Process(**found["process"])})
        ours = stack.folder in ("", project.identity())
        return stack if ours and stack.process.is_here() and stack.process.lives() else None
    return None


def prefect_url() -> str:
    """Raises ValueError where neither the environment names a server nor a project is found."""
    if named := os.environ.get("PREFECT_API_URL"):
        return named
    found = standing(find_project())
    return found.prefect if found else PREFECT_URL


def mlflow_url(project: Project) -> str:
    """The server, or what else `MLFLOW_TRACKING_URI` names; empty where the record is the project's own file."""
    if named := os.environ.get("MLFLOW_TRACKING_URI"):
        return named
    found = standing(project)
    return found.mlflow if found else ""
