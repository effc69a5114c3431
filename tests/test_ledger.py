"""The ledger: who runs what, written by many at once, lost without loss, and unwritable without harm."""

import multiprocessing
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import holder, runfile
from flows.keeper import Keeper, holding
from flows.ledger import Ledger, LedgerError
from flows.life import newest
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


def test_a_damaged_ledger_is_set_aside_once_and_made_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = project_at(tmp_path)
    project.make_state()
    ledger = Ledger(project)
    ledger.path.write_bytes(b"no database" * 700)
    ledger.beat(RUN, 1, "train", None)
    ledger.beat(RUN, 2, "train", None)
    assert [row.attempt for row in ledger.running()] == [1, 2]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("the ledger was damaged: it is kept as ")
    (kept,) = project.state.glob("ledger.db.damaged-*")
    assert kept.read_bytes() == b"no database" * 700


def test_a_ledger_without_tables_is_made_whole(tmp_path: Path) -> None:
    """As a kill between the two steps of its making leaves it."""
    ledger = Ledger(project_at(tmp_path))
    ledger.path.parent.mkdir()
    with closing(sqlite3.connect(ledger.path)) as half:
        half.execute("PRAGMA journal_mode = WAL")
    assert ledger.path.stat().st_size == 4096
    assert ledger.running() == []
    ledger.worker_beat(Process.this())
    ledger.begin(RUN, 1, Process.this())
    assert (len(ledger.workers()), len(ledger.running())) == (1, 1)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def keeper(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> Keeper:
    """Of a run whose folder is there, with a heart that beats fast."""
    monkeypatch.setattr("flows.keeper.BEAT_S", 0.1)
    monkeypatch.setattr("flows.keeper.TICK_S", 0.05)
    project = project_at(tmp_path)
    project.make_state()
    project.workspace(RUN).mkdir(parents=True)
    return Keeper(project, project.workspace(RUN), 1, said.append, SimpleNamespace(mlflow_run_id=None))


def wait_until(what: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_a_run_goes_on_without_a_ledger_and_says_so_once(keeper: Keeper, said: list[str]) -> None:
    keeper.ledger.path.mkdir()
    with keeper:
        wait_until(lambda: said)
        keeper.enters("train")
        keeper.started(os.getpid())
        assert newest(keeper.project, RUN) == holder.noted(keeper.project, RUN)
    assert len(said) == 1
    assert "the run goes on without its heartbeat" in said[0]
    assert holder.noted(keeper.project, RUN) is None


def test_a_ledger_that_was_deleted_learns_of_the_run_again(keeper: Keeper) -> None:
    with keeper:
        keeper.enters("train")
        keeper.started(os.getpid())
        wait_until(keeper.ledger.running)
        for path in keeper.project.state.glob("ledger.db*"):
            path.unlink()
        wait_until(keeper.ledger.running)
        (row,) = keeper.ledger.running()
        assert (row.process, row.group, row.stage) == (Process.this(), Process.this(), "train")


def test_a_locked_ledger_holds_up_no_run_and_is_level_again_afterwards(keeper: Keeper, said: list[str]) -> None:
    keeper.ledger.worker_beat(Process.this())
    other = sqlite3.connect(keeper.ledger.path, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    late = threading.Timer(5.0, other.rollback)
    late.start()
    with keeper:
        keeper.enters("train")
        keeper.started(os.getpid())
        assert other.in_transaction
        wait_until(lambda: said)
        late.cancel()
        other.rollback()
        wait_until(lambda: [row.stage for row in keeper.ledger.running()] == ["train"])
    assert len(said) == 1
    assert keeper.ledger.running() == []


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
