"""The record in MLflow: complete when it is there, and never in the way when it is not."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from record import give_record

from flows import tracking
from flows.curves import CurveWriter
from flows.params import Params, as_dict
from flows.project import Project
from flows.recorder import Recorder
from flows.runrecord import RunRecord

RUN = "20261130-120000-abcdef"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    made = give_record(Project(root=tmp_path, state=tmp_path / "state"))
    made.workspace(RUN).mkdir(parents=True)
    return made


def record() -> dict[str, Any]:
    return {
        "run_id": RUN,
        "dataset_version": "ab.dir",
        "params": as_dict(Params()),
        "started_ms": int(time.time() * 1000),
    }


def write_curves(workspace: Path, steps: int) -> None:
    curves = CurveWriter(workspace / "artifacts" / "curves")
    for step in range(1, steps + 1):
        curves.write({"split": "train", "step": step, "epoch": 1, "elapsed_s": 0.1 * step, "loss": 1 / step})
    curves.write(
        {"split": "validation", "step": steps, "epoch": 1, "elapsed_s": 1.0, "loss": 0.5, "balanced_accuracy": None}
    )
    curves.close()


def test_points_are_copied_once_and_what_was_not_computed_is_absent(project: Project) -> None:
    workspace = project.workspace(RUN)
    recorder = Recorder(project, workspace, record(), print)
    recorder.start()
    write_curves(workspace, 2500)
    recorder.finish("FINISHED", {"test/balanced_accuracy": 0.5}, [])
    assert recorder.offline is None
    client = tracking.client(project)
    run = tracking.find_run(client, RUN)
    assert run is not None
    assert run.info.status == "FINISHED"
    history = client.get_metric_history(run.info.run_id, "train/loss")
    assert [(point.step, point.value) for point in history] == [(s, float(f"{1 / s:.7g}")) for s in range(1, 2501)]
    assert "validation/balanced_accuracy" not in run.data.metrics
    assert run.data.params["train.epochs"] == str(Params().train.epochs)


def test_a_retried_run_goes_on_in_the_same_record(project: Project) -> None:
    for _ in range(2):
        recorder = Recorder(project, project.workspace(RUN), record(), print)
        recorder.start()
        recorder.finish("FINISHED", {}, [])
    client = tracking.client(project)
    experiment = client.get_experiment_by_name(tracking.EXPERIMENT)
    assert experiment is not None
    assert len(client.search_runs([experiment.experiment_id])) == 1


def test_a_dead_server_costs_the_record_and_is_said_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    said: list[str] = []
    recorder = Recorder(project, project.workspace(RUN), record(), said.append)
    recorder.start()
    write_curves(project.workspace(RUN), 3)
    recorder.finish("FINISHED", {}, [])
    assert recorder.offline
    assert len(said) == 1
    assert "training goes on" in said[0]


def test_the_address_of_the_record_is_told_to_no_child(project: Project) -> None:
    tracking.client(project)
    assert not {"MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"} & os.environ.keys()


RETRIES = "failed with exception HTTPConnectionPool(host='x', port=1): Max retries exceeded with url: /"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (RETRIES, "it does not answer"),
        ("HTTPConnectionPool(host='x', port=1): Read timed out. (read timeout=10)", "it does not answer"),
        ("(autoflush)\n(sqlite3.OperationalError) database or disk is full\n[SQL: x]", "its disk is full"),
        ("INVALID_PARAMETER_VALUE: too long\nmore", "INVALID_PARAMETER_VALUE: too long"),
        ("", "OSError"),
    ],
)
def test_what_lies_below_mlflow_is_told_by_its_cause(said: str, told: str) -> None:
    assert tracking.first_line(OSError(said)) == told


def test_a_record_whose_thread_broke_off_is_not_waited_for_and_not_called_whole(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: RunRecord) -> int:
        raise KeyError("a fault of ours")

    monkeypatch.setattr(RunRecord, "send_curves", broken)
    monkeypatch.setattr(threading, "excepthook", lambda told: None)
    recorder = Recorder(project, project.workspace(RUN), record(), lambda line: None)
    recorder.start()
    recorder.finish("FINISHED", {}, [])
    assert recorder.offline == "its thread broke off"
