"""How a run looks from outside: its own word, Prefect's word and its process, in that order."""

import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import runfile
from flows.curves import CurveWriter, read_curves
from flows.ledger import Ledger
from flows.life import run_lock
from flows.params import Params, as_dict
from flows.process import Process
from flows.project import Project
from flows.runview import RunView, collect
from flows.summary import status_lines


def project_at(folder: Path) -> Project:
    return Project(root=folder, state=folder)


def views(folder: Path, flow_runs: dict | None = None) -> list[RunView]:
    return collect(project_at(folder), lambda run_ids: flow_runs, 10)


def record(folder: Path, second: int, **changes: object) -> str:
    run_id = f"20261130-1200{second:02d}-abcdef"
    workspace = folder / "runs" / run_id
    workspace.mkdir(parents=True)
    stages = {name: {"state": "waiting"} for name in ("preprocess", "train", "evaluate", "register", "prune")}
    plain = {"run_id": run_id, "state": "queued", "created_at": runfile.now(), "dataset_version": "ab.dir"}
    runfile.write(workspace, plain | {"params": as_dict(Params()), "stages": stages} | changes)
    return run_id


def flow_run(name: str, kind: str, due_s: int = 0) -> SimpleNamespace:
    due = datetime.fromtimestamp(1_800_000_000 + due_s, UTC)
    kept = SimpleNamespace(type=SimpleNamespace(value=kind), message="word")
    return SimpleNamespace(id="f", name=name, state=kept, next_scheduled_start_time=None, expected_start_time=due)


def dead() -> Process:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    found = Process.of(child.pid)
    child.communicate()
    assert found is not None
    return found


def elsewhere() -> Process:
    return replace(dead(), host="another", boot_id="another")


def test_the_queue_has_places_in_order_of_asking(tmp_path: Path) -> None:
    ids = [record(tmp_path, second) for second in (1, 2, 3)]
    found = views(tmp_path)
    assert [view.run_id for view in found] == ids[::-1]
    assert [view.place for view in found] == [3, 2, 1]
    assert [view.reason for view in found] == [f"waits for run {ids[1]}", f"waits for run {ids[0]}", None]


def test_places_count_all_that_wait_and_what_runs_is_shown_however_many_came_later(tmp_path: Path) -> None:
    first, *waiting = (record(tmp_path, second) for second in range(9))
    with run_lock(project_at(tmp_path), first):
        runfile.update(tmp_path / "runs" / first, state="running")
        found = collect(project_at(tmp_path), lambda run_ids: None, 2)
    assert [(view.run_id, view.place) for view in found] == [(waiting[7], 8), (waiting[6], 7), (first, None)]
    assert [view.place for view in collect(project_at(tmp_path), lambda run_ids: None, 1, only=waiting[0])] == [1]


def test_prefects_word_on_an_earlier_attempt_counts_no_more(tmp_path: Path) -> None:
    again = record(tmp_path, 1, attempt=2, door="here", flow_run_id=None)
    queued = record(tmp_path, 2, attempt=2, door="queue", flow_run_id="new")
    found = views(tmp_path, {name: flow_run(name, "CANCELLED") for name in (again, queued)})
    assert [view.state for view in found] == ["queued", "queued"]


def test_the_places_are_those_of_prefect_which_may_have_got_two_orders_the_other_way_round(tmp_path: Path) -> None:
    first, second, third = (record(tmp_path, number) for number in (1, 2, 3))
    flow_runs = {first: flow_run(first, "SCHEDULED", 9), second: flow_run(second, "PENDING", 8)}
    found = views(tmp_path, flow_runs)
    assert [(view.run_id, view.place) for view in found] == [(third, 3), (second, 1), (first, 2)]


@pytest.mark.parametrize("hangs", [False, True], ids=["gone", "hanging"])
def test_a_queue_that_nobody_serves_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hangs: bool) -> None:
    """A worker that lives and says nothing serves nobody either; a run that was not put into the queue needs none."""
    ids = [record(tmp_path, second, door="queue") for second in (1, 2)] + [record(tmp_path, 3, door="here")]
    ledger = Ledger(project_at(tmp_path))
    assert [view.reason for view in views(tmp_path)][1:] == ["Prefect does not answer"] * 2
    ledger.worker_beat(Process.this() if hangs else dead())
    if hangs:
        later = time.time() + 60
        monkeypatch.setattr("flows.workers.time.time", lambda: later)
    assert [view.reason for view in views(tmp_path, {})] == [f"waits for run {ids[1]}", *["no worker answers"] * 2]
    assert status_lines([], views(tmp_path, {}))[-1].split("  ")[1] == "queued, place 1: no worker answers"
    monkeypatch.undo()
    ledger.worker_beat(Process.this())
    assert [view.reason for view in views(tmp_path, {})] == [f"waits for run {ids[1]}", f"waits for run {ids[0]}", None]


@pytest.mark.parametrize(
    ("own", "owner", "prefect", "expected"),
    [
        ({"state": "queued"}, None, None, "queued"),
        ({"state": "queued"}, None, "SCHEDULED", "queued"),
        ({"state": "queued"}, None, "CANCELLED", "cancelled"),
        ({"state": "queued"}, None, "CRASHED", "crashed"),
        ({"state": "running"}, Process.this, "RUNNING", "running"),
        ({"state": "running"}, Process.this, "CANCELLING", "running"),
        ({"state": "running"}, Process.this, "CRASHED", "running"),
        ({"state": "running"}, dead, "RUNNING", "crashed"),
        ({"state": "running"}, dead, None, "crashed"),
        ({"state": "running"}, elsewhere, "RUNNING", "running"),
        ({"state": "done"}, None, "RUNNING", "done"),
        ({"state": "failed", "message": "why"}, None, "FAILED", "failed"),
    ],
)
def test_states(tmp_path: Path, own: dict, owner: object, prefect: str | None, expected: str) -> None:
    run_id = record(tmp_path, 1, **own)
    if owner:
        Ledger(project_at(tmp_path)).begin(run_id, 1, owner())  # type: ignore[operator]
    flow_runs = {run_id: flow_run(run_id, prefect)} if prefect else None
    (view,) = views(tmp_path, flow_runs)
    assert view.state == expected


def test_a_run_whose_lock_is_held_lives_whatever_the_ledger_says(tmp_path: Path) -> None:
    run_id = record(tmp_path, 1, state="running")
    Ledger(project_at(tmp_path)).begin(run_id, 1, dead())
    (tmp_path / "locks").mkdir(exist_ok=True)
    with run_lock(project_at(tmp_path), run_id):
        assert views(tmp_path)[0].state == "running"
    assert views(tmp_path)[0].state == "crashed"


def test_a_dead_run_is_seen_to_be_dead_without_a_ledger(tmp_path: Path) -> None:
    run_id = record(tmp_path, 1, state="running")
    Ledger(project_at(tmp_path)).path.write_bytes(b"no database" * 700)
    (tmp_path / "locks").mkdir()
    with run_lock(project_at(tmp_path), run_id):
        assert views(tmp_path)[0].state == "running"
    assert views(tmp_path)[0].state == "crashed"


def test_a_process_with_a_used_number_is_another(tmp_path: Path) -> None:
    mine = Process.this()
    assert mine.lives()
    assert not replace(mine, started="1").lives()
    assert not replace(mine, boot_id="another").lives()
    assert not replace(mine, pid=2**22 + mine.pid).lives()


def test_progress_is_read_off_the_curve(tmp_path: Path) -> None:
    stages = {"train": {"state": "running"}}
    run_id = record(tmp_path, 1, state="running", stages=stages)
    Ledger(project_at(tmp_path)).begin(run_id, 1, Process.this())
    curves = CurveWriter(tmp_path / "runs" / run_id / "journal")
    for step in (1, 2, 3):
        curves.write({"split": "train", "step": step, "epoch": 1, "steps": 9, "elapsed_s": 2.0 * step, "loss": 0.5})
    (view,) = views(tmp_path)
    curves.close()
    assert view.progress is not None
    assert (view.progress.step, view.progress.steps, view.progress.eta_s) == (3, 9, 12.0)


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    folder = tmp_path / "artifacts" / "curves"
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text("step,loss\n1,0.5\n2,0.")
    assert read_curves(tmp_path)["train"] == [{"step": "1", "loss": "0.5"}]


def test_what_is_not_a_number_becomes_an_empty_field(tmp_path: Path) -> None:
    writer = CurveWriter(tmp_path / "artifacts" / "curves")
    writer.write({"split": "validation", "step": 1, "loss": float("nan"), "balanced_accuracy": None})
    writer.close()
    assert read_curves(tmp_path)["validation"] == [{"step": "1", "loss": "", "balanced_accuracy": ""}]


def test_a_process_of_another_table_is_not_here(tmp_path: Path) -> None:
    """Two containers may have one host name, and the numbers of both begin at 1."""
    mine = Process.this()
    ticks, _, table = mine.started.partition("@")
    assert table.isdigit()
    assert mine.is_here()
    assert replace(mine, started=ticks).is_here()  # written down before tables were told apart
    assert not replace(mine, started=f"{ticks}@1").is_here()
    run_id = record(tmp_path, 1, state="running")
    Ledger(project_at(tmp_path)).begin(run_id, 1, replace(mine, started=f"{ticks}@1"))
    assert views(tmp_path)[0].state == "crashed"  # one kernel, so its lock would be held
