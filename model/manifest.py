"""The one rule of which checkpoints are complete; it reads manifests and hashes, and needs no tensors."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.content import read_json, sha256

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.safetensors", "state.json"
MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """One complete checkpoint: where it is, its step, and whether training can go on from it bit by bit."""

    path: Path
    step: int
    resumable: bool
    size_bytes: int


def complete(path: Path) -> Checkpoint | None:
    """The checkpoint in a folder, or None if it is not complete or a byte of it differs."""
    return None if fault(path) else _described(path)


def fault(path: Path) -> str:
    """Why a folder is no complete checkpoint, in one sentence; empty if it is one."""
    if path.is_symlink() or not path.is_dir():
        return f"{path}: expected a checkpoint folder, found none"
    try:
        manifest = read_json(path / MANIFEST)
        _step(path, manifest)
    except ValueError as error:
        return str(error)
    for name, entry in manifest["files"].items():
        file = path / name
        if file.is_symlink() or not file.is_file():
            return f"{file}: missing from the checkpoint"
        if file.stat().st_size != entry["bytes"]:
            return f"{file}: has {file.stat().st_size:,} bytes, expected {entry['bytes']:,}"
        if sha256(file) != entry["sha256"]:
            return f"{file}: its SHA-256 differs from the manifest's"
    return ""


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


def _step(path: Path, manifest: Mapping[str, Any]) -> int:
    """The step of a manifest.

    Raises ValueError if the manifest is not what `save` writes.
    """
    step, listed = manifest.get("step"), manifest.get("files")
    if not isinstance(step, int) or not isinstance(listed, dict) or not {WEIGHTS, STATE} <= listed.keys():
        raise ValueError(f"{path / MANIFEST}: not the manifest of a checkpoint")
    for name, entry in listed.items():
        if name not in (WEIGHTS, STATE, OPTIMIZER) or not isinstance(entry, dict) or set(entry) != {"bytes", "sha256"}:
            raise ValueError(f"{path / MANIFEST}: has a wrong entry for {name!r}")
    return step


def _described(path: Path) -> Checkpoint:
    manifest = read_json(path / MANIFEST)
    size = sum(entry["bytes"] for entry in manifest["files"].values())
    resumable = OPTIMIZER in manifest["files"]
    return Checkpoint(path=path, step=_step(path, manifest), resumable=resumable, size_bytes=size)


def _folders(root: Path) -> list[Path]:
    """The folders that look like checkpoints; links are no checkpoints."""
    if not root.is_dir():
        return []
    return [path for path in sorted(root.glob("step-*")) if path.is_dir() and not path.is_symlink()]
