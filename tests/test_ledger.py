"""The ledger: who runs what, written by many at once, lost without loss, and unwritable without harm."""

import multiprocessing
import os
import sqlite3
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import runfile
from flows.keeper import Keeper, holding
from flows.ledger import Ledger, LedgerError
from flows.process import Process
from flows.project import Project

RUN = "20261130-120000-abcdef"
WRITERS, ROWS = 8, 25


def project_at(folder: Path) -> Project:
    return Project(root=folder, state=folder / "state")


def write_rows(folder: str, writer: int) -> None:
    ledger = Ledger(project_at(Path(folder)))
    for row in range(ROWS):
        ledger.begin(f"20261130-1200{writer:02d}-{row:06x}", 1, Process.this())
        ledger.beat(f"20261130-1200{writer:02d}-{row:06x}", 1, "train", None)


def test_eight_processes_open_it_first_and_lose_no_row(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_rows, args=(str(tmp_path), number)) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    rows = Ledger(project_at(tmp_path)).running()
    assert len(rows) == WRITERS * ROWS
    assert {row.stage for row in rows} == {"train"}


def test_an_attempt_from_its_begin_to_its_end(tmp_path: Path) -> None:
    ledger = Ledger(project_at(tmp_path))
    assert ledger.newest(RUN) is None
    ledger.begin(RUN, 1, Process.this())
    ledger.beat(RUN, 1, "train", Process.this())
    (row,) = ledger.running()
    assert (row.process, row.group, row.stage, row.ended_at) == (Process.this(), Process.this(), "train", None)
    ledger.end(RUN, 1, "crashed", ["mlflow"])
    assert ledger.running() == []
    assert [(row.reason, row.untold) for row in ledger.untold()] == [("crashed", ("mlflow",))]
    ledger.begin(RUN, 2, Process.this())
    newest = ledger.newest(RUN)
    assert newest is not None
    assert (newest.attempt, newest.reason) == (2, None)


def test_a_long_writer_is_waited_for(tmp_path: Path) -> None:
    ledger = Ledger(project_at(tmp_path))
    ledger.worker_beat(Process.this())
    other = sqlite3.connect(ledger.path, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(1.0, other.rollback).start()
    ledger.worker_beat(Process.this())
    assert len(ledger.workers()) == 1


def test_a_ledger_that_is_none_is_named(tmp_path: Path) -> None:
    ledger = Ledger(project_at(tmp_path))
    ledger.path.parent.mkdir()
    ledger.path.write_bytes(b"no database" * 100)
    with pytest.raises(LedgerError, match=r"ledger\.db: file is not a database"):
        ledger.running()


@pytest.mark.parametrize("fault", ["damaged", "full"])
def test_a_run_goes_on_without_a_ledger_and_says_so_once(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, said = project_at(tmp_path), []
    monkeypatch.setattr("flows.keeper.BEAT_S", 0.1)
    monkeypatch.setattr("flows.keeper.TICK_S", 0.05)
    project.make_state()
    if fault == "damaged":
        Ledger(project).path.write_bytes(b"no database" * 100)
    else:
        Ledger(project).path.symlink_to("/dev/full")
    keeper = Keeper(project, project.workspace(RUN), 1, said.append, SimpleNamespace(mlflow_run_id=None))
    with keeper:
        keeper.enters("train")
        keeper.started(os.getpid())
    assert len(said) == 1
    assert "the run goes on without its heartbeat" in said[0]


def test_two_processes_cannot_hold_one_run(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    with holding(project, RUN), pytest.raises(ValueError, match=f"run {RUN} is running already"), holding(project, RUN):
        pass
    with holding(project, RUN):
        pass


def test_no_writer_loses_what_another_wrote(tmp_path: Path) -> None:
    plain = {"run_id": RUN, "state": "running", "created_at": runfile.now(), "dataset_version": ""}
    runfile.write(tmp_path, plain | {"params": {}, "stages": {}})
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=prove, args=(str(tmp_path), number)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    record = runfile.read(tmp_path)
    assert record is not None
    assert len(record["proof"]) == 4 * ROWS
    assert len(record["stages"]) == 4 * ROWS


def prove(folder: str, writer: int) -> None:
    for row in range(ROWS):
        runfile.prove(Path(folder), f"{writer} {row}")
        runfile.set_stage(Path(folder), f"{writer} {row}", state="done")
