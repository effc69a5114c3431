"""The file of samples: one NPZ of plain arrays."""

import os
import zipfile
from pathlib import Path

import numpy as np


def save_samples(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays as one NPZ, the same bytes for the same arrays, complete or not at all."""
    temporary = path.with_name(f".{path.name}.partial")
    with temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **{name: arrays[name] for name in sorted(arrays)})
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def load_samples(path: Path) -> dict[str, np.ndarray]:
    """Read what `save_samples` wrote; nothing in the file is run.

    Raises ValueError if it is missing or no NPZ of plain arrays.
    """
    if not path.is_file():
        raise ValueError(f"{path} is missing, expected the samples that preprocess writes")
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as samples: {error}") from None
