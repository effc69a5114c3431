"""Which checkpoint an ended run can go on from, asked often and read seldom."""

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from flows import earlier
from flows.curves import JOURNAL
from model.manifest import MANIFEST, list_complete

TRAINED = ("done", "cached")


def resumable_step(workspace: Path, record: dict[str, Any]) -> int | None:
    """The update of the newest complete checkpoint, where the run's training has not ended; None without one.

    None as well where another user keeps them to himself.
    """
    if record.get("stages", {}).get("train", {}).get("state") in TRAINED:
        return None
    with suppress(PermissionError):
        known = [*(workspace / "checkpoints").glob(f"step-*/{MANIFEST}"), *(workspace / JOURNAL).glob(earlier.NAME)]
        return _latest(workspace, tuple(sorted((path, path.stat().st_mtime_ns) for path in known)))
    return None


@lru_cache(maxsize=256)
def _latest(workspace: Path, known: tuple[tuple[Path, int], ...]) -> int | None:
    """Every byte is hashed, so once a set of manifests is enough."""
    points = [entry for entry in list_complete(workspace / "checkpoints") if entry.resumable] if known else []
    own = earlier.without(points, workspace / JOURNAL)
    return own[-1].step if own else None
