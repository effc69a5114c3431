"""Who uses a DVC cache: each state folder that does leaves a note of itself in it, before it puts anything there.

A cache is the checkout's, while `PIVOTLINE_STATE` gives a checkout many state folders and `PIVOTLINE_CACHE` a cache
many checkouts. Whoever prunes asks all of them; where one cannot be asked, nothing of the cache goes.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from flows.project import Project
from model.content import read_json

FOLDER = "pivotline-users"


def sign(project: Project) -> None:
    """Notes, once, that this state folder uses the cache. Raises OSError where the disk refuses."""
    path = note(project)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{token_hex(4)}.part")
    part.write_text(json.dumps({"root": str(project.root), "state": str(project.state)}), encoding="utf-8")
    part.replace(path)
    begin(project)


def begin(project: Project) -> None:
    """Keeps from when on users are noted, whichever of their notes goes later."""
    with suppress(FileExistsError), first(project).open("x", encoding="utf-8") as file:
        file.write(f"{min(path.stat().st_mtime for path in notes(project)):.3f}\n")


def first(project: Project) -> Path:
    """Where that is kept, as seconds since 1970."""
    return project.cache / FOLDER / "since"


def note(project: Project) -> Path:
    name = hashlib.sha256(f"{project.root}\n{project.state}".encode()).hexdigest()[:16]
    return project.cache / FOLDER / f"{name}.json"


def notes(project: Project) -> list[Path]:
    return sorted((project.cache / FOLDER).glob("*.json"))


def since(project: Project) -> float | None:
    """From when on all users are known: what is older may be anybody's. None where nobody has left a note."""
    with suppress(FileNotFoundError, ValueError):
        return float(first(project).read_text(encoding="utf-8"))
    return min((path.stat().st_mtime for path in notes(project)), default=None)


def others(project: Project) -> tuple[list[Project], list[str]]:
    """The other users of the cache, and a sentence on each that cannot be asked."""
    found, silent = [], []
    for path in notes(project):
        if path == note(project):
            continue
        try:
            found.append(user(path))
        except (OSError, ValueError) as error:
            silent.append(f"nothing of the dataset cache goes: {error}; delete {path} if it is gone for good")
    return found, silent


def user(path: Path) -> Project:
    """The project of a note. Raises ValueError where it, or what it names, is not there to be asked."""
    told = read_json(path)
    root, state = told.get("root"), told.get("state")
    if not isinstance(root, str) or not isinstance(state, str):
        raise ValueError(f"{path} does not name a state folder that uses the cache")
    made = Project(root=Path(root), state=Path(state))
    for folder in (made.root, made.locks):  # an empty folder may be a disk that is not there now
        if not folder.is_dir():
            raise ValueError(f"state folder {state} used it, and {folder} is not there now")
    return made
