"""Leases: whoever has a run or a registered version open says so, and nothing prunes it meanwhile.

A lease is a small file under `state/locks/leases`. It ends when it is given back, when its process is gone from this
machine, or after its time, so that a page that was closed without a word holds nothing for ever.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from flows.process import Process
from flows.project import Project
from model.content import read_json

LASTS_S = 600.0
OPEN, USED = "an open page shows it", "it was used within ten minutes"
UNREAD = (FileNotFoundError, IsADirectoryError, PermissionError, ValueError, TypeError, KeyError, RecursionError)
ANY = "*"
SECRET = {"subject": ANY, "why": "a lease of another user's, which cannot be read, may be on it"}
RENEWED_S = 60.0  # a page that is drawn every second does not write every second


def take(project: Project, subject: str, why: str, lasts_s: float = LASTS_S, name: str = "") -> Path:
    """Holds `subject`; returns the lease's file, which is `name` or a new one.

    Subjects are `run:<id>`, `model:<logged model id>`, and of copies `version:<name>-<number>`, `dataset:<version>`.
    """
    folder = project.locks / "leases"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name or token_hex(8)}.json"
    part = path.with_suffix(".part")
    lease = {"subject": subject, "why": why, "until": time.time() + lasts_s, "owner": Process.this().as_dict()}
    part.write_text(json.dumps(lease), encoding="utf-8")
    part.replace(path)
    return path


def renew(project: Project, subject: str, why: str) -> None:
    """Holds `subject` from now on for this process, in one file however often that is said.

    Where it cannot be written down, on a full disk or a read-only one, whoever looks goes on without it.
    """
    this = Process.this()
    name = hashlib.sha256(f"{subject} {this.host} {this.pid} {this.started}".encode()).hexdigest()[:16]
    path = project.locks / "leases" / f"{name}.json"
    with suppress(FileNotFoundError):
        if 0 <= time.time() - path.stat().st_mtime < RENEWED_S:
            return
    with suppress(OSError):
        take(project, subject, why, name=name)


@contextmanager
def held(project: Project, subject: str, why: str) -> Iterator[None]:
    path = take(project, subject, why)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def holder(project: Project, subject: str) -> str:
    """Why `subject` is held, empty when it is not."""
    return next((str(lease["why"]) for _, lease in leases(project) if lease["subject"] in (subject, ANY)), "")


def leases(project: Project) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Those in force; the files of others are cleared away, as far as we may.

    One that another user keeps to himself may be on anything for as long as a lease lasts. Raises OSError where they
    cannot be listed.
    """
    folder = project.locks / "leases"
    for path in (path for path in (folder.iterdir() if folder.is_dir() else ()) if path.suffix == ".json"):
        with suppress(*UNREAD):
            secret = not os.access(path, os.R_OK) and time.time() - path.stat().st_mtime < LASTS_S
            lease = SECRET if secret else read_json(path)
            if secret or in_force(lease):
                yield path, lease
            else:
                path.unlink(missing_ok=True)


def in_force(lease: dict[str, Any]) -> bool:
    """Of a process elsewhere nothing is known but the lease's time."""
    owner = Process(**lease["owner"])
    return float(lease["until"]) > time.time() and (not owner.is_here() or owner.lives())
