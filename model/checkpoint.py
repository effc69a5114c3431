"""Checkpoints that are either complete or not there.

A checkpoint is a folder: weights.safetensors, optimizer.safetensors (dropped from older ones), state.json and, written
last, manifest.json with the step and the size and SHA-256 of every file. It is built under a hidden name, flushed and
renamed, so a crash at any moment leaves the older ones as they were. Order is the manifest's step, which the state's
agrees with, never name or time.
"""

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from model import files
from model.content import as_json, read_json
from model.manifest import (
    MANIFEST,
    OPTIMIZER,
    STATE,
    WEIGHTS,
    Checkpoint,
    Manifest,
    complete,
    fault,
    latest,
    list_complete,
    list_faults,
    read_manifest,
)
from model.weights import pack, unpack

__all__ = [
    "MANIFEST",
    "OPTIMIZER",
    "STATE",
    "Checkpoint",
    "complete",
    "delete",
    "fault",
    "latest",
    "list_complete",
    "list_faults",
    "load",
    "save",
    "state_of",
    "sweep",
]

HIDDEN = ".saving-"


def save(
    root: Path, step: int, weights: Mapping[str, Tensor], optimizer: Mapping[str, Tensor] | None, state: dict[str, Any]
) -> Path:
    """Write the checkpoint of a step; if this fails, nothing but a hidden folder is left, which is then removed.

    Raises OSError if the disk refuses.
    """
    contents = {WEIGHTS: pack(dict(weights)), STATE: as_json({**state, "step": step})}
    if optimizer is not None:
        contents[OPTIMIZER] = pack(dict(optimizer))
    hidden, final = root / f"{HIDDEN}{step:08d}", root / f"step-{step:08d}"
    files.make_folder(root)
    sweep(root)
    files.make_folder(hidden)
    try:
        for name, content in contents.items():
            files.write(hidden / name, content)
        files.write(hidden / MANIFEST, _manifest(step, contents).as_json())
        files.sync_folder(hidden)
        return _publish(hidden, final)
    except OSError:
        sweep(root)
        raise


def sweep(root: Path) -> None:
    """Remove what an interrupted save left; nothing that is listed is touched."""
    for path in root.glob(f"{HIDDEN}*"):
        files.remove_folder(path)


def load(path: Path) -> tuple[dict[str, Tensor], dict[str, Tensor] | None, dict[str, Any]]:
    """Weights, optimiser state (None if it was dropped) and state of a checkpoint.

    Raises ValueError if it is not complete.
    """
    problem = fault(path)
    if problem:
        raise ValueError(problem)
    optimizer = unpack(path / OPTIMIZER) if OPTIMIZER in read_manifest(path).files else None
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


def _manifest(step: int, contents: Mapping[str, bytes]) -> Manifest:
    sums = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in contents.items()}
    return Manifest(step=step, files=sums)
