"""JSON and hashes of files, as checkpoints and models hold them. Needs no tensors."""

import hashlib
import json
from pathlib import Path
from typing import Any


def as_json(values: Any) -> bytes:
    """JSON with sorted keys, so that equal values give equal bytes."""
    return (json.dumps(values, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object.

    Raises ValueError if the file is missing or holds anything else.
    """
    if path.is_symlink() or not path.is_file():
        raise ValueError(f"{path}: expected a JSON file, found none")
    return object_in(path.read_bytes(), path)


def object_in(content: str | bytes, path: Path) -> dict[str, Any]:
    """The JSON object in the content of a file.

    Raises ValueError naming the file if it is anything else, or nests deeper than the reader goes.
    """
    try:
        values = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from None
    except RecursionError:
        raise ValueError(f"{path}: nests too deep for a JSON file of ours") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object, got {type(values).__name__}")
    return values


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hex: of weights.safetensors, the key that tells whether two runs gave the same bits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
