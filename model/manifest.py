"""The one rule of which checkpoints are complete; it reads manifests and hashes, and needs no tensors."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from model.content import as_json, read_json, sha256

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.safetensors", "state.json"
MANIFEST = "manifest.json"
MOST = 2**53  # no step and no file is as large; from here on, JSON numbers are not exact everywhere
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """One complete checkpoint: where it is, its step, and whether training can go on from it bit by bit."""

    path: Path
    step: int
    resumable: bool
    size_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What a checkpoint says of itself: its step, and of each file the bytes and the SHA-256."""

    step: int
    files: Mapping[str, tuple[int, str]]

    def as_json(self) -> bytes:
        listed = {name: {"bytes": count, "sha256": digest} for name, (count, digest) in self.files.items()}
        return as_json({"format": 1, "step": self.step, "files": listed})


def read_manifest(path: Path) -> Manifest:
    """The manifest of the checkpoint in a folder, each value of it of its type and within its bounds.

    Raises ValueError, saying what is wrong, if it is not what `save` writes.
    """
    found = read_json(path / MANIFEST)
    step, listed = found.get("step"), found.get("files")
    if not is_count(step):
        raise ValueError(f"{path / MANIFEST}: step is {step!r:.60}, expected a whole number from 0 to 2**53")
    if not isinstance(listed, dict) or not {WEIGHTS, STATE} <= listed.keys() <= {WEIGHTS, STATE, OPTIMIZER}:
        raise ValueError(f"{path / MANIFEST}: expected {WEIGHTS} and {STATE} among its files, and no stranger")
    return Manifest(step=step, files={name: _entry(path, name, entry) for name, entry in listed.items()})


def complete(path: Path) -> Checkpoint | None:
    """The checkpoint in a folder, or None if it is not complete or a byte of it differs."""
    return None if fault(path) else _described(path)


def fault(path: Path) -> str:
    """Why a folder is no complete checkpoint, in one sentence; empty if it is one."""
    if path.is_symlink() or not path.is_dir():
        return f"{path}: expected a checkpoint folder, found none"
    try:
        manifest = read_manifest(path)
        return damage(path, manifest) or contradiction(path, manifest)
    except ValueError as error:
        return str(error)


def damage(path: Path, manifest: Manifest) -> str:
    """The first file that is missing or not the one that was saved; empty if every byte is."""
    for name, (count, digest) in manifest.files.items():
        file = path / name
        if file.is_symlink() or not file.is_file():
            return f"{file}: missing from the checkpoint"
        if file.stat().st_size != count:
            return f"{file}: has {file.stat().st_size:,} bytes, expected {count:,}"
        if sha256(file) != digest:
            return f"{file}: its SHA-256 differs from the manifest's"
    return ""


def contradiction(path: Path, manifest: Manifest) -> str:
    """Where the state tells of another step than the manifest: then neither is believed.

    Raises ValueError if the state is no JSON object.
    """
    step = _step_of(read_json(path / STATE))
    if step is None:
        return f"{path}: no step in {STATE}, {manifest.step} in {MANIFEST}"
    return "" if step == manifest.step else f"{path}: step {step} in {STATE}, {manifest.step} in {MANIFEST}"


def list_complete(root: Path) -> list[Checkpoint]:
    """The complete checkpoints of a folder, oldest step first."""
    found = [complete(path) for path in _folders(root)]
    return sorted((entry for entry in found if entry), key=lambda entry: (entry.step, entry.path.name))


def list_faults(root: Path) -> list[str]:
    """One sentence for each folder that looks like a checkpoint and is not a complete one."""
    return [text for path in _folders(root) if (text := fault(path))]


def latest(root: Path) -> Checkpoint | None:
    """The complete checkpoint with the highest step that training can go on from."""
    return next((entry for entry in reversed(list_complete(root)) if entry.resumable), None)


def is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < MOST  # True is no number


def _entry(path: Path, name: str, entry: Any) -> tuple[int, str]:
    """Bytes and SHA-256 of a file. Raises ValueError if a manifest has anything else there."""
    count, digest = (entry.get("bytes"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
    if not is_count(count):
        raise ValueError(f"{path / MANIFEST}: bytes of {name} are {count!r:.60}, expected a whole number from 0")
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        raise ValueError(f"{path / MANIFEST}: sha256 of {name} is {digest!r:.80}, expected 64 hex digits")
    return count, digest


def _step_of(state: Mapping[str, Any]) -> int | None:
    """The step that a state tells; states of earlier versions have it in their progress alone."""
    progress = state.get("progress")
    step = state["step"] if "step" in state else progress.get("step") if isinstance(progress, dict) else None
    return step if is_count(step) else None


def _described(path: Path) -> Checkpoint:
    manifest = read_manifest(path)
    size = sum(count for count, _ in manifest.files.values())
    return Checkpoint(path=path, step=manifest.step, resumable=OPTIMIZER in manifest.files, size_bytes=size)


def _folders(root: Path) -> list[Path]:
    """The folders that look like checkpoints; links are no checkpoints. Raises OSError where they cannot be listed."""
    found = sorted(root.iterdir()) if root.is_dir() else []
    return [path for path in found if path.name.startswith("step-") and path.is_dir() and not path.is_symlink()]
