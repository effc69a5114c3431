"""The few file operations that checkpoints and weights are made of, in one place so that each can be made to fail."""

import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """A new file whose content is on the disk when this returns; what had its name before loses it, links above all.

    Raises OSError naming the file, with the bytes it needs as a note, where the disk refuses.
    """
    try:
        if path.is_symlink() or path.exists():
            remove_folder(path)
        with path.open("xb") as file:  # made here or not at all: nothing is written through a link
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = error.filename or str(path)
        error.add_note(f"{len(content):,} bytes needed")
        raise


def make_folder(path: Path) -> None:
    """A folder, with its parents, if it is not there yet."""
    path.mkdir(parents=True, exist_ok=True)


def sync_folder(path: Path) -> None:
    """The names in a folder are on the disk when this returns."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def rename(source: Path, target: Path) -> None:
    """Move within a file system, in one step."""
    source.replace(target)


def remove(path: Path) -> None:
    """One file or link; the target of a link stays."""
    path.unlink()


def remove_folder(path: Path) -> None:
    """A folder with the files in it; links are removed, never followed."""
    if path.is_symlink() or not path.is_dir():
        return remove(path)
    for entry in sorted(path.iterdir()):
        remove_folder(entry)
    path.rmdir()
    return None
