"""How a run looks from outside: its own word, Prefect's word and its process, in that order."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from flows import runfile
from flows.curves import CurveWriter, read_curves
from flows.params import Params, as_dict
from flows.runview import collect


def record(folder: Path, second: int, **changes: object) -> str:
    run_id = f"20261130-1200{second:02d}-abcdef"
    workspace = folder / run_id
    workspace.mkdir(parents=True)
    stages = {name: {"state": "waiting"} for name in ("preprocess", "train", "evaluate", "register", "prune")}
    plain = {"run_id": run_id, "state": "queued", "created_at": runfile.now(), "dataset_version": "ab.dir"}
    runfile.write(workspace, plain | {"params": as_dict(Params()), "stages": stages} | changes)
    return run_id


def flow_run(name: str, kind: str) -> SimpleNamespace:
    return SimpleNamespace(id="f", name=name, state=SimpleNamespace(type=SimpleNamespace(value=kind), message="word"))


def dead_owner() -> dict:
    process = subprocess.Popen([sys.executable, "-c", ""])
    owner = {"pid": process.pid, "created": psutil.Process(process.pid).create_time(), "host": socket.gethostname()}
    process.wait()
    return owner


def test_the_queue_has_places_in_order_of_asking(tmp_path: Path) -> None:
    ids = [record(tmp_path, second) for second in (1, 2, 3)]
    views = collect(tmp_path, None, 10)
    assert [view.run_id for view in views] == ids[::-1]
    assert [view.place for view in views] == [3, 2, 1]


@pytest.mark.parametrize(
    ("own", "prefect", "expected"),
    [
        ({"state": "queued"}, None, "queued"),
        ({"state": "queued"}, "SCHEDULED", "queued"),
        ({"state": "queued"}, "CANCELLED", "cancelled"),
        ({"state": "queued"}, "CRASHED", "crashed"),
        ({"state": "running", "owner": runfile.this_process()}, "RUNNING", "running"),
        ({"state": "running", "owner": runfile.this_process()}, "CANCELLING", "running"),
        ({"state": "running", "owner": dead_owner()}, "RUNNING", "crashed"),
        ({"state": "running", "owner": dead_owner()}, None, "crashed"),
        ({"state": "running", "owner": dead_owner() | {"host": "another"}}, "RUNNING", "running"),
        ({"state": "done"}, "RUNNING", "done"),
        ({"state": "failed", "message": "why"}, "FAILED", "failed"),
    ],
)
def test_states(tmp_path: Path, own: dict, prefect: str | None, expected: str) -> None:
    run_id = record(tmp_path, 1, **own)
    flow_runs = {run_id: flow_run(run_id, prefect)} if prefect else None
    (view,) = collect(tmp_path, flow_runs, 10)
    assert view.state == expected


def test_a_process_with_a_used_number_is_not_the_owner() -> None:
    mine = runfile.this_process()
    assert runfile.owner_lives({"owner": mine})
    assert not runfile.owner_lives({"owner": mine | {"created": mine["created"] - 60}})
    assert not runfile.owner_lives({"owner": mine | {"pid": 2**22 + os.getpid()}})


def test_progress_is_read_off_the_curve(tmp_path: Path) -> None:
    stages = {"train": {"state": "running"}}
    run_id = record(tmp_path, 1, state="running", owner=runfile.this_process(), stages=stages)
    curves = CurveWriter(tmp_path / run_id / "artifacts" / "curves")
    for step in (1, 2, 3):
        curves.write({"split": "train", "step": step, "epoch": 1, "steps": 9, "elapsed_s": 2.0 * step, "loss": 0.5})
    (view,) = collect(tmp_path, None, 10)
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
