"""Leases: whoever has a run or a registered version open says so, and nothing prunes it meanwhile.

A lease is a small file under `state/locks/leases`. It ends when it is given back, when its process is gone from this
machine, or after its time, so that a page that was closed without a word holds nothing for ever.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from flows.process import Process
from flows.project import Project

LASTS_S = 600.0


def take(project: Project, subject: str, why: str, lasts_s: float = LASTS_S) -> Path:
    """Holds `subject` (`run:<id>` or `model:<logged model id>`); returns the lease's file."""
    folder = project.locks / "leases"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{token_hex(8)}.json"
    part = path.with_suffix(".part")
    lease = {"subject": subject, "why": why, "until": time.time() + lasts_s, "owner": Process.this().as_dict()}
    part.write_text(json.dumps(lease), encoding="utf-8")
    part.replace(path)
    return path


@contextmanager
def held(project: Project, subject: str, why: str) -> Iterator[None]:
    path = take(project, subject, why)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def holder(project: Project, subject: str) -> str:
    """Why `subject` is held, empty when it is not."""
    return next((str(lease["why"]) for _, lease in leases(project) if lease["subject"] == subject), "")


def leases(project: Project) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Those in force; the files of others are cleared away."""
    for path in (project.locks / "leases").glob("*.json"):
        with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
            lease = json.loads(path.read_text(encoding="utf-8"))
            if in_force(lease):
                yield path, lease
            else:
                path.unlink(missing_ok=True)


def in_force(lease: dict[str, Any]) -> bool:
    """Of a process elsewhere nothing is known but the lease's time."""
    owner = Process(**lease["owner"])
    return float(lease["until"]) > time.time() and (not owner.is_here() or owner.lives())
