"""Checkpoints that are either complete or not there.

A checkpoint is a folder: weights.safetensors, optimizer.safetensors (dropped from older ones), state.json and, written
last, manifest.json with the step and the size and SHA-256 of every file. It is built under a hidden name, flushed and
renamed, so a crash at any moment leaves the older ones as they were. Order is the manifest's step, never name or time.
"""

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from model import files
from model.weights import WEIGHTS, as_json, pack, read_json, sha256, unpack

OPTIMIZER, STATE, MANIFEST = "optimizer.safetensors", "state.json", "manifest.json"
HIDDEN = ".saving-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """One complete checkpoint: where it is, its step, and whether training can go on from it bit by bit."""

    path: Path
    step: int
    resumable: bool
    size_bytes: int


def save(
    root: Path, step: int, weights: Mapping[str, Tensor], optimizer: Mapping[str, Tensor] | None, state: dict[str, Any]
) -> Path:
    """Write the checkpoint of a step; if this fails, nothing but a hidden folder is left, which is then removed.

    Raises OSError if the disk refuses.
    """
    contents = {WEIGHTS: pack(dict(weights)), STATE: as_json(state)}
    if optimizer is not None:
        contents[OPTIMIZER] = pack(dict(optimizer))
    hidden, final = root / f"{HIDDEN}{step:08d}", root / f"step-{step:08d}"
    files.make_folder(root)
    sweep(root)
    files.make_folder(hidden)
    try:
        for name, content in contents.items():
            files.write(hidden / name, content)
        files.write(hidden / MANIFEST, as_json(_manifest(step, contents)))
        files.sync_folder(hidden)
        return _publish(hidden, final)
    except OSError:
        sweep(root)
        raise


def sweep(root: Path) -> None:
    """Remove what an interrupted save left; nothing that is listed is touched."""
    for path in root.glob(f"{HIDDEN}*"):
        files.remove_folder(path)


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


def load(path: Path) -> tuple[dict[str, Tensor], dict[str, Tensor] | None, dict[str, Any]]:
    """Weights, optimiser state (None if it was dropped) and state of a checkpoint.

    Raises ValueError if it is not complete.
    """
    problem = fault(path)
    if problem:
        raise ValueError(problem)
    manifest = read_json(path / MANIFEST)
    optimizer = unpack(path / OPTIMIZER) if OPTIMIZER in manifest["files"] else None
    return unpack(path / WEIGHTS), optimizer, read_json(path / STATE)


def state_of(path: Path) -> dict[str, Any]:
    """The state of a complete checkpoint, without its tensors."""
    return read_json(path / STATE)


def delete(path: Path) -> None:
    """Remove a checkpoint, or a link to one; it loses its name first, so half a removal is never listed."""
    hidden = path.with_name(f"{HIDDEN}removed-{path.name}")
    if hidden.exists():
        files.remove_folder(hidden)
    files.rename(path, hidden)
    files.remove_folder(hidden)


def _publish(hidden: Path, final: Path) -> Path:
    """Give a finished folder a free name, and only then remove what had the same step before."""
    earlier = sorted(final.parent.glob(f"{final.name}*"))
    target = next(path for path in _names(final) if path not in earlier)
    files.rename(hidden, target)
    files.sync_folder(target.parent)
    for path in earlier:
        delete(path)
    return target


def _names(final: Path) -> Iterator[Path]:
    yield final
    yield from (final.with_name(f"{final.name}-{i}") for i in itertools.count(2))


def _manifest(step: int, contents: Mapping[str, bytes]) -> dict[str, Any]:
    sums = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in contents.items()}
    return {"format": 1, "step": step, "files": sums}


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
