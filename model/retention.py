"""Which checkpoints of a run stay: the newest, and the best."""

from dataclasses import replace
from pathlib import Path

from model import files
from model.checkpoint import MANIFEST, OPTIMIZER, delete, list_complete
from model.manifest import read_manifest


def keep(root: Path, newest: int, best_step: int | None) -> None:
    """Remove all complete checkpoints but the best and the `newest` newest.

    The newest keep their optimiser state, so that training can go on from the one before if the last is damaged; the
    best loses it once it is older than they are.

    Raises ValueError if `newest` is under 1.
    """
    if newest < 1:
        raise ValueError(f"checkpoints to keep is {newest}, expected at least 1")
    for entry in list_complete(root)[:-newest]:
        if entry.step == best_step:
            drop_optimizer(entry.path)
        else:
            delete(entry.path)


def drop_optimizer(path: Path) -> None:
    """Make a checkpoint smaller; it stays complete at every moment."""
    manifest = read_manifest(path)
    if OPTIMIZER in manifest.files:
        left = {name: entry for name, entry in manifest.files.items() if name != OPTIMIZER}
        files.write(path / f"{MANIFEST}.new", replace(manifest, files=left).as_json())
        files.rename(path / f"{MANIFEST}.new", path / MANIFEST)
        files.sync_folder(path)
    if (path / OPTIMIZER).exists():
        files.remove(path / OPTIMIZER)
