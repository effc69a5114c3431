"""Which checkpoint an ended run can go on from, asked often and read seldom."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from model.manifest import MANIFEST, latest

TRAINED = ("done", "cached")


def resumable_step(workspace: Path, record: dict[str, Any]) -> int | None:
    """The update of the newest complete checkpoint, where the run's training has not ended; None without one."""
    if record.get("stages", {}).get("train", {}).get("state") in TRAINED:
        return None
    folder = workspace / "checkpoints"
    return _latest(folder, tuple(sorted((path, path.stat().st_mtime_ns) for path in folder.glob(f"step-*/{MANIFEST}"))))


@lru_cache(maxsize=256)
def _latest(folder: Path, manifests: tuple[tuple[Path, int], ...]) -> int | None:
    """Every byte is hashed, so once a set of manifests is enough."""
    found = latest(folder) if manifests else None
    return found.step if found else None
