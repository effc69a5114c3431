"""One thing on the disk and whether it goes; what is younger than an hour may still be in the making."""

import time
from dataclasses import dataclass
from pathlib import Path

RECENT_S = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One thing on the disk, whether it goes, and why it goes or stays."""

    path: Path
    name: str
    goes: bool
    why: str
    run_id: str | None = None


def recent(path: Path) -> bool:
    """Changed or linked within the last hour; a time in the future counts as recent."""
    info = path.lstat()
    return young(max(info.st_mtime, info.st_ctime))


def young(at: float) -> bool:
    return time.time() - at < RECENT_S


def verdict(path: Path, name: str, goes: bool, why: str, run_id: str | None = None) -> Verdict:
    return Verdict(path=path, name=name, goes=goes, why=why, run_id=run_id)
