"""The sample dataset as scaled sample arrays, made by the stages' own code and kept for the next bench."""

from pathlib import Path

import numpy as np

from dataset.config import PreprocessConfig
from dataset.samples import build
from dataset.scaler import fit

ROOT = Path(__file__).resolve().parent.parent
TRAIN = 0


def raw() -> dict[str, np.ndarray]:
    """Unscaled arrays of `data/`. Raises ValueError if the folder is not there or not valid."""
    return build(ROOT / "data", PreprocessConfig())[0]


def scaled() -> dict[str, np.ndarray]:
    """What the train stage reads: scaled by the training split, with `split`."""
    arrays = raw()
    rows = np.flatnonzero(arrays["split"] == TRAIN)
    return fit(arrays, rows).apply(arrays)
