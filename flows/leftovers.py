"""What interrupted work left in the state folder under a hidden name: half removed, half fetched, half laid out."""

import re
from collections.abc import Iterator
from pathlib import Path

from flows import copies, disk, runfile
from flows.project import Project
from flows.verdict import Verdict, recent, verdict, young

NAMES = {
    "runs/.*": rf"\.removing-{runfile.RUN_ID.pattern}",
    "datasets/.*": rf"\.(removing-{copies.DATASET.pattern}|{copies.DATASET.pattern}\.restoring)",
    "models/*/.*": rf"\.(removing|fetching)-{copies.MODEL.pattern}",
    "mlartifacts/*/.*": r"\.removing-artifacts",
    "mlartifacts/*/*/.*": r"\.removing-artifacts",
}


def found(project: Project) -> Iterator[Path]:
    """Those that really lie in the state folder; beside checkpoints a run's own verdicts tell of them."""
    for pattern, name in NAMES.items():
        for path in sorted(project.state.glob(pattern)):
            if re.fullmatch(name, path.name) and disk.inside(project.state, path):
                yield path


def verdicts(project: Project) -> Iterator[Verdict]:
    for path in found(project):
        kept = "it may be in the making" if in_work(path) else ""
        yield verdict(path, f"part {path.name}", not kept, kept or "work that was interrupted left it")


def in_work(path: Path) -> bool:
    """Whether it, or anything in it, was touched within the hour: a slow download grows in one file."""
    return recent(path) or any(young(max(info.st_mtime, info.st_ctime)) for _, info in disk.entries(path))
