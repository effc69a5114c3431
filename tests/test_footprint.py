"""What memory a training says it holds while it goes on: read, not estimated, and kept beside its curves."""

from pathlib import Path

import pytest
import stage
import torch

from flows.curves import JOURNAL, predicted_bytes, read_memory
from model.device import choose
from model.memory import Footprint

MIB = 2**20


def test_a_footprint_is_above_what_was_there_before_and_keeps_its_peak() -> None:
    footprint = Footprint(choose("cpu"))
    before = footprint.now()
    held = torch.ones(64 * MIB // 4)
    during = footprint.now()
    del held
    after = footprint.now()
    assert before["held_bytes"] < 8 * MIB
    assert during["held_bytes"] - before["held_bytes"] > 60 * MIB
    assert after["held_bytes"] < during["held_bytes"] - 60 * MIB
    assert after["peak_bytes"] >= during["held_bytes"]


@pytest.mark.slow
def test_a_training_tells_its_memory_after_each_part_of_an_epoch(tmp_path: Path) -> None:
    folder = stage.make(tmp_path / "run")
    code, said = stage.run(folder)
    assert code == 0, said
    rows = read_memory(folder)
    assert [int(row["step"]) for row in rows] == [1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9]  # judged after every third
    assert all(0 <= int(row["held_bytes"]) <= int(row["peak_bytes"]) for row in rows)
    assert predicted_bytes(folder / JOURNAL)
