"""The dataset versions that are known here, their files on demand, and which of them `data/` holds.

A version is named by the hash of its files; nothing here changes one. `data/` is only ever replaced as a whole, and
only once every file of the version that leaves it is in the cache.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from dataset.cells import read_cells
from dataset.history import cached, commits, peek, stores
from dataset.importers.place import check_target, put_in_place
from dataset.schema import annotation_path, read_info
from dataset.versions import add, held, restore, tracked_version, version
from flows import cache_users, leases
from flows.datasets import used
from flows.errors import ResourceError
from flows.project import Project, find_project

POINTER = "data.dvc"
VERSION = re.compile(r"[0-9a-f]{32}\.dir")


@dataclass(frozen=True, kw_only=True, slots=True)
class LibraryEntry:
    """A dataset version: where it is known, and whether its files are all here."""

    version: str
    name: str = ""
    simulated: bool | None = None
    trades: int | None = None
    current: bool = False  # data/ holds it
    tracked: bool = False  # data.dvc names it
    seen: tuple[str, ...] = ()  # commits and runs, in words
    restorable: bool = False


def library() -> list[LibraryEntry]:
    """The version in `data/` first, then that of `data.dvc`, then those of git, of runs and of the DVC cache."""
    project = find_project()
    folders, seen = stores(project.root, project.cache), places(project)
    files = cached(folders)
    order = list(dict.fromkeys([*seen, *files]))
    facts = {name: peek(files.get(name, {}), folders) for name in order}
    current, tracked = current_version(project), pointed(project)
    if current:
        facts[current] = told(project.root / "data")
    return [
        LibraryEntry(
            version=name,
            current=name == current,
            tracked=name == tracked,
            seen=tuple(seen.get(name, ())),
            restorable=name == current or name in files,
            **facts[name],
        )
        for name in order
    ]


def told(root: Path) -> dict[str, Any]:
    """What the dataset in `data/` says of itself, as far as it can be read; what is wrong is told by its findings."""
    found: dict[str, Any] = {}
    with suppress(ValueError):
        info = read_info(root)
        found |= {"name": info.name, "simulated": info.simulated}
        found["trades"] = len(read_cells(annotation_path(root)))
    return found


def places(project: Project) -> dict[str, list[str]]:
    """Version -> where it is named, the version in `data/` and that of `data.dvc` first."""
    first = [name for name in (current_version(project), pointed(project)) if name]
    found: dict[str, list[str]] = {name: [] for name in first}
    for entry in commits(project.root):
        found.setdefault(entry.version, []).append(f"commit {entry.commit} of {entry.at[:10]}")
    for workspace, name in used(project):
        found.setdefault(name, []).append(f"run {workspace.name}")
    for name in sorted(remembered(project)):
        found.setdefault(name, [])
    return found


def current_version(project: Project) -> str | None:
    """The version of `data/`; None where there is no data."""
    folder = project.root / "data"
    return version(folder) if folder.is_dir() and any(folder.iterdir()) else None


def pointed(project: Project) -> str | None:
    pointer = project.root / POINTER
    return tracked_version(pointer) if pointer.is_file() else None


def folder(dataset_version: str) -> Path:
    """A folder with the files of a version, to read: `data/` where it holds it, else a copy, made once.

    Raises ValueError if some of its files are nowhere to be had.
    """
    project = find_project()
    if dataset_version == current_version(project):
        return project.root / "data"
    copy = project.state / "datasets" / dataset_version.removesuffix(".dir")
    with FileLock(lock(project, "datasets.lock")):
        leases.renew(project, f"dataset:{dataset_version}", leases.USED)
        if not copy.is_dir():
            copy.parent.mkdir(parents=True, exist_ok=True)
            restore(dataset_version, copy, stores(project.root, project.cache))
    return copy


def use(dataset_version: str) -> str:
    """Puts a version into `data/`; what was there stays in the cache. Returns the version that left, or nothing.

    Raises ValueError if its files are not to be had, or `data/` holds something that is no dataset.
    """
    project = find_project()
    with beside(project) as staged:
        restore(dataset_version, staged / "data", stores(project.root, project.cache))
        return replace_data(project, staged)


def replace_data(project: Project, staged: Path) -> str:
    """Puts `staged/data` into `data/` and into `data.dvc`; all that can fail comes before the first rename."""
    target = project.root / "data"
    check_place(target)
    cache_users.sign(project)
    with FileLock(lock(project, "data.lock")):
        check_target(target, replace=True)
        left = current_version(project)
        if left:
            keep(project, left)
            remember(project, left)
        remember(project, add(staged, project.cache))
        put_in_place(staged / "data", target)
        (staged / POINTER).replace(project.root / POINTER)
    return left or ""


def check_place(target: Path) -> None:
    """Raises ResourceError where `data/` cannot be exchanged as a whole, as in a container that has it mounted."""
    if not os.access(target.parent, os.W_OK) or os.path.ismount(target):
        raise ResourceError(
            f"{target} cannot be exchanged from here: its folder is read-only or mounted; use `pivotline data use` or "
            "`pivotline data import --to data --replace` on the machine itself"
        )


def keep(project: Project, left: str) -> None:
    """Makes sure that a version which is to leave `data/` can be brought back, byte for byte.

    Raises OSError if it cannot be put into the cache.
    """
    if held(left, stores(project.root, project.cache)):
        return
    with beside(project) as copy:
        shutil.copytree(project.root / "data", copy / "data")
        add(copy, project.cache)
    if not held(left, [project.cache]):
        raise OSError(f"dataset version {left} could not be put into the cache {project.cache}; data/ was left alone")


def remember(project: Project, name: str) -> None:
    """Notes that `data/` held a version: from then on no prune takes its files."""
    notes = project.state / "datasets"
    notes.mkdir(parents=True, exist_ok=True)
    (notes / f"{name}.held").touch()


def remembered(project: Project) -> set[str]:
    """The versions that `data/` was given or gave up here."""
    found = (path.name.removesuffix(".held") for path in (project.state / "datasets").glob("*.held"))
    return {name for name in found if VERSION.fullmatch(name)}


@contextmanager
def beside(project: Project) -> Iterator[Path]:
    """A folder on the disk of `data/`, so that a rename is enough; removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=".pivotline-data-", dir=project.root) as made:
        yield Path(made)


def lock(project: Project, name: str) -> Path:
    project.make_state()
    return project.locks / name
