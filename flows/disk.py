"""What lies on the disk: bytes by kind, each file counted once however many names it has; links are never followed."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flows.project import Project

KINDS = ("checkpoints", "models", "dataset cache", "records", "logs", "other")
RECORDS = ("mlflow.db", "prefect", "locks")
GB = 10**9
REMOVING = ".removing-"
UNSEEN = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG)


@dataclass(frozen=True, kw_only=True, slots=True)
class Disk:
    """Bytes that the project takes, the budget for them, and what the file system has left."""

    by_kind: dict[str, int]
    used_bytes: int
    budget_bytes: int
    free_bytes: int


def disk(project: Project, budget_gb: float) -> Disk:
    """The state folder and the dataset cache, counted."""
    seen: set[tuple[int, int]] = set()
    by_kind = dict.fromkeys(KINDS, 0)
    for root in (project.state, project.cache):
        for path, info in entries(root):
            if (info.st_dev, info.st_ino) not in seen:
                seen.add((info.st_dev, info.st_ino))
                by_kind[kind(project, path)] += info.st_blocks * 512
    return Disk(
        by_kind=by_kind,
        used_bytes=sum(by_kind.values()),
        budget_bytes=int(budget_gb * GB),
        free_bytes=free_bytes(project),
    )


def kind(project: Project, path: Path) -> str:
    if path.is_relative_to(project.cache):
        return "dataset cache"
    words = path.relative_to(project.state).parts
    if "checkpoints" in words:
        return "checkpoints"
    if words[0] in ("mlartifacts", "models") or words[2:4] == ("artifacts", "model"):
        return "models"
    if words[0].startswith(RECORDS) or words[-1] == "run.json":
        return "records"
    return "logs" if "logs" in words else "other"


def entries(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every file and link below a folder, itself included when it is one.

    What vanishes meanwhile is left out, and so is what another user keeps to himself, or lies too deep to be named.
    """
    waiting = [root]
    while waiting:
        path = waiting.pop()
        try:
            info = path.lstat()
            folder = stat.S_ISDIR(info.st_mode)
            waiting += sorted(path.iterdir(), reverse=True) if folder else []
        except OSError as error:
            if error.errno not in UNSEEN:
                raise
            continue
        if not folder:
            yield path, info


def free_bytes(project: Project) -> int:
    """What the file system of the state folder has left for us."""
    return free_at(project.state)


def free_at(path: Path) -> int:
    return shutil.disk_usage(next(place for place in (path, *path.parents) if place.exists())).free


def inside(root: Path, path: Path) -> bool:
    """Whether a path lies below a folder with no link on the way to it; only the two ends may be links themselves."""
    if path == root or ".." in path.parts or not path.is_relative_to(root):
        return False
    return not any(folder.is_symlink() for folder in path.parents if folder != root and folder.is_relative_to(root))


def real_folder(root: Path, path: Path) -> bool:
    """A folder that lies below `root` and is no link."""
    return path.is_dir() and not path.is_symlink() and inside(root, path)


def ours(project: Project, path: Path) -> bool:
    """Whether a path lies in the state folder or the dataset cache, and not only by way of a link."""
    return inside(project.state, path) or inside(project.cache, path)


def check(project: Project, path: Path) -> None:
    """Raises OSError for what is not ours to remove, as it lies now."""
    if not ours(project, path):
        raise OSError(errno.EXDEV, "it lies outside, or behind a link", str(path))


def remove(project: Project, path: Path) -> int:
    """Removes a file, a link or a folder with all in it; returns the bytes freed: those whose last name went.

    A folder loses its name first, so that nobody takes half of it for the whole. Raises OSError for what is not ours.
    """
    check(project, path)
    target = path
    if path.is_dir() and not path.is_symlink() and not path.name.startswith(REMOVING):
        target = path.with_name(f"{REMOVING}{path.name}")
        if target.is_symlink() or target.exists():
            remove(project, target)
        path.rename(target)
    freed = 0
    for file, info in list(entries(target)):
        last = file.lstat().st_nlink == 1
        file.unlink()
        freed += info.st_blocks * 512 if last else 0
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    return freed
