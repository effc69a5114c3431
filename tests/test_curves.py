"""The journal of a training: cut back to a checkpoint, read while it grows, and replaced by the finished curves."""

from pathlib import Path

import pytest

from flows.curverows import gap
from flows.curves import (
    JOURNAL,
    MEMORY,
    OUTPUT,
    CurveWriter,
    cut,
    predicted_bytes,
    publish,
    read_curve,
    read_curves,
    read_memory,
)
from flows.tail import Tail


def write(folder: Path, steps: range) -> None:
    """Updates, three an epoch, and a validation after each third."""
    writer = CurveWriter(folder)
    for step in steps:
        writer.write({"split": "train", "step": step, "epoch": (step + 2) // 3, "loss": 1 / step})
        if step % 3 == 0:
            writer.write({"split": "validation", "step": step, "epoch": step // 3, "loss": 0.5})
    writer.sync()
    writer.close()


def texts(folder: Path) -> list[str]:
    return [(folder / f"{split}.csv").read_text() for split in ("train", "validation")]


def test_a_journal_that_is_cut_and_goes_on_is_the_whole_one(tmp_path: Path) -> None:
    write(tmp_path / "whole", range(1, 10))
    for last, epochs in ((4, 1), (6, 2), (6, 1), (2, 0), (9, 3)):
        folder = tmp_path / f"{last}-{epochs}"
        write(folder, range(1, 9))
        cut(folder, last, epochs)
        assert len(read_curves_in(folder)["train"]) == min(last, 8)
        assert len(read_curves_in(folder)["validation"]) == min(epochs, 2)
        if epochs == last // 3 and last < 9:
            write(folder, range(last + 1, 10))
            assert texts(folder) == texts(tmp_path / "whole")


def read_curves_in(folder: Path) -> dict:
    home = folder.with_name(f"{folder.name}-home")
    home.mkdir(exist_ok=True)
    if not (home / JOURNAL).exists():
        (home / JOURNAL).symlink_to(folder)
    return read_curves(home)


def test_a_half_written_line_is_cut_away(tmp_path: Path) -> None:
    write(tmp_path / "whole", range(1, 4))
    write(tmp_path / "torn", range(1, 4))
    with (tmp_path / "torn" / "train.csv").open("a") as file:
        file.write("4,2,0.")
    cut(tmp_path / "torn", 9, 9)
    assert texts(tmp_path / "torn") == texts(tmp_path / "whole")


def test_finished_curves_come_before_the_journal(tmp_path: Path) -> None:
    write(tmp_path / JOURNAL, range(1, 3))
    assert len(read_curves(tmp_path)["train"]) == 2
    write(tmp_path / "other", range(1, 6))
    publish(tmp_path / "other", tmp_path / OUTPUT)
    assert len(read_curves(tmp_path)["train"]) == 5


def test_a_split_without_rows_has_an_empty_output(tmp_path: Path) -> None:
    write(tmp_path / JOURNAL, range(1, 3))
    publish(tmp_path / JOURNAL, tmp_path / OUTPUT)
    assert (tmp_path / OUTPUT / "validation.csv").read_text() == ""
    assert read_curves(tmp_path)["validation"] == []


def test_the_memory_goes_back_with_the_curves_and_is_no_output(tmp_path: Path) -> None:
    write(tmp_path / JOURNAL, range(1, 7))
    writer = CurveWriter(tmp_path / JOURNAL)
    for step in range(1, 7):
        writer.write({"split": MEMORY, "step": step, "held_bytes": 10 * step})
    writer.close()
    cut(tmp_path / JOURNAL, 4, 1)
    assert [row["held_bytes"] for row in read_memory(tmp_path)] == ["10", "20", "30", "40"]
    assert [row["step"] for row in read_memory(tmp_path, most=2)] == ["1", "3", "4"]
    publish(tmp_path / JOURNAL, tmp_path / OUTPUT)
    assert not (tmp_path / OUTPUT / "memory.csv").exists()


def test_a_prediction_that_was_not_kept_is_none(tmp_path: Path) -> None:
    assert predicted_bytes(tmp_path) is None
    (tmp_path / "memory.json").write_text('{"peak_bytes": 7')
    assert predicted_bytes(tmp_path) is None
    (tmp_path / "memory.json").write_text('{"peak_bytes": 7}')
    assert predicted_bytes(tmp_path) == 7


@pytest.mark.parametrize("line", ["garbage", "", "7", "x,1,1", "2.5,1,1", "\x00" * 9, "3,1,0.1,4", "é,1,1"])
def test_a_damaged_line_is_no_row_for_any_reader(tmp_path: Path, line: str) -> None:
    folder = tmp_path / JOURNAL
    folder.mkdir()
    (folder / "train.csv").write_text(f"step,epoch,loss\n1,1,0.5\n{line}\n3,1,\n4,1,0.", "utf-8")
    tail = Tail(tmp_path, "train")
    rows = [{"step": "1", "epoch": "1", "loss": "0.5"}, {"step": "3", "epoch": "1", "loss": ""}]
    assert read_curves(tmp_path)["train"] == tail.rows() == rows
    assert gap([int(row["step"]) for row in rows], 4) == "2, 4"


def test_a_file_without_its_head_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(b"\x00\xff\x00\n1,1,0.5\n")
    assert read_curve(tmp_path / "train.csv") == []


@pytest.mark.parametrize(
    "text", [b"step,epoch,loss\n\xff,1,0.5\n1,1,0.5\n9,1,0.5\n", b"step,epo,loss\n1,1,0.5\n9,2,0.5\n"]
)
def test_a_damaged_journal_is_cut_all_the_same(tmp_path: Path, text: bytes) -> None:
    for split in ("train", "validation"):
        (tmp_path / f"{split}.csv").write_bytes(text)
    cut(tmp_path, 4, 1)
    assert [row["step"] for row in read_curve(tmp_path / "train.csv")] == ["1"]
    cut(tmp_path, 0, 0)
    assert list(tmp_path.iterdir()) == []
