"""Checkpoints that a finished run no longer needs: all but the best and the newest."""

from dataclasses import dataclass
from pathlib import Path

from model.checkpoint import list_complete
from model.retention import keep


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruned:
    """What a pruning did; the bytes are measured, not predicted."""

    removed: int
    kept: int
    freed_bytes: int


def prune(checkpoints: Path, keep_last: int, best_step: int | None) -> Pruned:
    """Removes complete checkpoints beyond the `keep_last` newest and the best; what is not complete is left alone."""
    before, size = len(list_complete(checkpoints)), size_of(checkpoints)
    keep(checkpoints, keep_last, best_step)
    kept = len(list_complete(checkpoints))
    return Pruned(removed=before - kept, kept=kept, freed_bytes=size - size_of(checkpoints))


def size_of(folder: Path) -> int:
    """Bytes of the files below a folder; links are not followed."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
