"""Who holds a run, noted by the holder itself beside the run's lock: known also where the ledger is lost or damaged."""

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from flows.ledger import Attempt
from flows.process import Process
from flows.project import Project
from model.content import read_json


def note(project: Project, attempt: Attempt) -> None:
    """Replaces the note in one step. A full disk keeps the one before; a deleted state folder is not made anew."""
    path = place(project, attempt.run_id)
    part = path.with_suffix(".part")
    try:
        part.write_text(json.dumps(asdict(attempt)), encoding="utf-8")
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def noted(project: Project, run_id: str) -> Attempt | None:
    """What the holder noted last, also one that died; None where there is no note that can be read."""
    try:
        found = read_json(place(project, run_id))
        found["process"] = Process.told(found["process"])
        found["group"] = Process.told(found["group"]) if found["group"] else None
        made = Attempt(**found | {"untold": tuple(found["untold"])})
        return made if type(made.attempt) is int and type(made.beat_at) in (int, float) else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def forget(project: Project, run_id: str) -> None:
    """Takes the note away: nobody holds the run any more."""
    path = place(project, run_id)
    for left in (path, path.with_suffix(".part")):
        with suppress(OSError):
            left.unlink(missing_ok=True)


def place(project: Project, run_id: str) -> Path:
    return project.locks / f"{run_id}.run.holder"
