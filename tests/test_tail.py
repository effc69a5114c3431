"""The tail of a curve gives each whole row once, whatever happens to the file."""

import time
from pathlib import Path

from flows.curves import CurveWriter, cut, publish, read_curve
from flows.tail import Tail


def write(folder: Path, steps: range) -> None:
    curves = CurveWriter(folder)
    for step in steps:
        curves.write({"split": "train", "step": step, "epoch": 1, "loss": 1 / step})
    curves.close()


def steps(tail: Tail) -> list[int]:
    return [int(row["step"]) for row in tail.rows()]


def test_each_row_comes_once_and_whole(tmp_path: Path) -> None:
    tail, journal = Tail(tmp_path, "train"), tmp_path / "journal"
    assert steps(tail) == []
    write(journal, range(1, 4))
    assert tail.rows() == read_curve(journal / "train.csv")
    with (journal / "train.csv").open("a") as file:
        file.write("4,1,0.")
    assert steps(tail) == []
    with (journal / "train.csv").open("a") as file:
        file.write("25\n5,1,0.2\n")
    assert steps(tail) == [4, 5]


def test_a_file_that_was_cut_or_published_is_read_anew(tmp_path: Path) -> None:
    tail, journal = Tail(tmp_path, "train"), tmp_path / "journal"
    write(journal, range(1, 10))
    assert len(steps(tail)) == 9
    cut(journal, 4, 0)
    write(journal, range(5, 7))
    assert steps(tail) == [1, 2, 3, 4, 5, 6]
    publish(journal, tmp_path / "artifacts" / "curves")
    assert steps(tail) == [1, 2, 3, 4, 5, 6]


def test_a_look_costs_what_was_added(tmp_path: Path) -> None:
    tail, journal = Tail(tmp_path, "train"), tmp_path / "journal"
    write(journal, range(1, 30_001))
    began = time.thread_time()
    assert len(steps(tail)) == 30_000
    whole_s = time.thread_time() - began
    write(journal, range(30_001, 30_006))
    began = time.thread_time()
    assert len(steps(tail)) == 5
    assert time.thread_time() - began < whole_s / 20
