"""A long training holds no more memory in its last epochs than in its first."""

from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from makers import tiny_model, tiny_samples, tiny_train

from model.trainer import fit

pytestmark = pytest.mark.slow
EPOCHS, SETTLED = 200, 40
GROWTH_BYTES = 50 * 1024  # an epoch, at most


def test_two_hundred_epochs_take_no_more_memory_than_forty(tmp_path: Path) -> None:
    held: list[int] = []
    process = psutil.Process()

    def log(row: dict[str, Any]) -> None:
        if row["split"] == "validation":
            held.append(process.memory_info().rss)

    config = tiny_train(epochs=EPOCHS, patience_epochs=EPOCHS, checkpoint_every_s=0.0)
    fit(config, tiny_model(), tiny_samples(11, 6), log=log, checkpoints=tmp_path)
    assert len(held) == EPOCHS
    slope, _ = np.polyfit(np.arange(EPOCHS - SETTLED), held[SETTLED:], 1)
    assert slope < GROWTH_BYTES, f"{slope / 1024:.0f} KiB an epoch"
