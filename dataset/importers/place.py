"""Putting a finished data root in its place: the old one stays until the new one is there."""

import shutil
from pathlib import Path

from dataset.schema import read_info


def check_target(target: Path, replace: bool) -> None:
    """Bring an interrupted replacement to its end, then see whether `target` may be written.

    Raises ValueError if it holds something that must not be replaced.
    """
    kept = _kept(target)
    if kept.exists() and not target.exists():
        kept.rename(target)
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise ValueError(f"{target} is no folder, expected a new folder or a data root to replace")
    if not target.exists() or not any(target.iterdir()):
        return
    if not (target / "dataset.json").is_file():
        raise ValueError(f"{target} holds other files, expected a new folder or a data root to replace")
    read_info(target)
    if not replace:
        raise ValueError(
            f"{target} holds a dataset already, expected a new folder; --replace puts the new one in its place"
        )


def put_in_place(staged: Path, target: Path) -> None:
    """Rename `staged` to `target`; should that fail, the old data root is back in its place."""
    kept = _kept(target)
    if kept.exists():
        shutil.rmtree(kept)
    if target.exists():
        target.rename(kept)
    try:
        staged.rename(target)
    except OSError:
        if kept.exists():
            kept.rename(target)
        raise
    if kept.exists():
        shutil.rmtree(kept)


def _kept(target: Path) -> Path:
    return target.with_name(f".{target.name}.replaced")
