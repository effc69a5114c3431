"""MLflow is brought level with the runs, once: after an outage, a kill at any call, or a second attempt."""

import itertools
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command_line
import pytest
from checkout import ROOT
from mlflow.tracking._model_registry.client import ModelRegistryClient
from mlflow.tracking._tracking_service.client import TrackingServiceClient
from record import give_record
from trained import trained, write_curves

from bench.forked import CONTEXT
from flows import catching_up, runfile, sync, tracking
from flows.project import Project
from flows.runrecord import RunRecord

RUN, LATER = "20261130-120000-abcdef", "20261130-120001-abcdef"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return give_record(Project(root=tmp_path, state=tmp_path / "state"))


def ended(project: Project, state: str = "done", steps: int = 300) -> None:
    """A run that ended while MLflow was down."""
    record = trained(project, RUN, steps=steps)
    result = {"registered": None, "mlflow_run_id": None, "recorded": False}
    runfile.write(project.workspace(RUN), record | {"state": state, "recorded": False, "result": result})


def points(client: Any) -> list[int]:
    run = tracking.find_run(client, RUN)
    assert run is not None
    return [point.step for point in client.get_metric_history(run.info.run_id, "train/loss")]


def test_it_is_done_once_however_often_it_is_asked_for(project: Project) -> None:
    ended(project)
    assert sync.pending(project) == [RUN]
    first = sync.sync(project, print)
    client = tracking.client(project)
    assert (first.runs, first.versions) == ((RUN,), (1,))
    assert points(client) == list(range(1, 301))
    record = runfile.read(project.workspace(RUN)) or {}
    assert record["result"]["registered"]["version"] == 1
    assert record["stages"]["register"]["state"] == "done"
    assert sync.sync(project, print).runs == ()
    runfile.update(project.workspace(RUN), recorded=False)  # as if it had been killed before it wrote that down
    again = sync.sync(project, print)
    assert (again.points, again.versions) == (0, ())
    assert points(client) == list(range(1, 301))
    run = tracking.find_run(client, RUN)
    assert run is not None
    assert run.info.status == "FINISHED"
    assert run.data.metrics["test/balanced_accuracy"] == 0.75
    assert len(client.get_metric_history(run.info.run_id, "test/balanced_accuracy")) == 1
    assert len(client.search_model_versions("name = 'pivotline'")) == 1


@pytest.mark.parametrize(("state", "status"), [("failed", "FAILED"), ("crashed", "FAILED"), ("cancelled", "KILLED")])
def test_runs_left_running_in_mlflow_are_closed(project: Project, state: str, status: str) -> None:
    ended(project, state, steps=3)
    record = runfile.read(project.workspace(RUN)) or {}
    client = tracking.client(project)
    RunRecord(client, project.workspace(RUN), record).running()
    assert sync.sync(project, print).versions == ()
    run = tracking.find_run(client, RUN)
    assert run is not None
    assert run.info.status == status


def test_updates_that_a_second_attempt_repeats_count_once(project: Project) -> None:
    record, client = trained(project, RUN, steps=10), tracking.client(project)
    RunRecord(client, project.workspace(RUN), record).send_curves()
    folder = project.workspace(RUN) / "artifacts" / "curves"
    for path in folder.iterdir():
        path.unlink()
    write_curves(project.workspace(RUN), 20, slower=1.5)  # went on from update 5: the times of 6 to 10 are others
    RunRecord(client, project.workspace(RUN), record).send_curves()
    assert points(client) == list(range(1, 21))


@pytest.mark.parametrize(
    "text", ["{}", "[1]", '{"baselines": 5}'], ids=["nothing in it", "no object", "a value of another kind"]
)
def test_a_damaged_report_stops_no_other_run(project: Project, text: str) -> None:
    ended(project, steps=3)
    (project.workspace(RUN) / "artifacts" / "evaluation.json").write_text(text)
    a_later_run_goes_on(project)


def test_a_run_that_mlflow_refuses_stops_no_other_run(project: Project) -> None:
    ended(project, steps=3)
    sync.sync(project, print)
    params = (runfile.read(project.workspace(RUN)) or {})["params"]
    runfile.update(project.workspace(RUN), recorded=False, params=params | {"train": {"epochs": 99}})
    a_later_run_goes_on(project)


def a_later_run_goes_on(project: Project) -> None:
    """Whatever keeps the older run, which comes first, from being brought level."""
    trained(project, LATER, steps=3)
    runfile.update(project.workspace(LATER), state="done", recorded=False)
    done = sync.sync(project, print)
    assert (done.runs, done.damaged) == ((LATER,), (RUN,))


def test_what_mlflow_lost_is_recorded_anew_once_and_only_when_asked_for(project: Project) -> None:
    ended(project, steps=3)
    sync.sync(project, print)
    empty = give_record(Project(root=project.root, state=project.state.with_name("moved")))
    shutil.copytree(project.runs, empty.runs)
    assert sync.sync(empty, print).runs == ()
    done = sync.sync(empty, print, again=True)
    assert (done.runs, done.versions) == ((RUN,), (1,))
    assert points(tracking.client(empty)) == [1, 2, 3]
    assert sync.sync(empty, print, again=True).runs == ()


def test_a_version_that_was_deleted_is_registered_anew_when_asked_for(project: Project) -> None:
    ended(project, steps=3)
    sync.sync(project, print)
    client = tracking.client(project)
    client.delete_model_version("pivotline", "1")
    assert sync.sync(project, print, again=True).versions == (2,)
    assert points(client) == [1, 2, 3]


CALLS = {
    ModelRegistryClient: (
        "create_registered_model", "create_model_version", "set_registered_model_alias", "set_registered_model_tag"
    ),
    TrackingServiceClient: (
        "create_run", "log_batch", "log_artifact", "set_terminated", "create_logged_model", "log_model_artifacts",
        "finalize_logged_model", "update_run",
    ),
}  # fmt: skip
KILLED = 9


def sync_killed_at(project: Project, last: int, after: bool) -> int:
    """Brings MLflow level in a process of its own that is gone before or after its `last` call; its exit status."""
    child = CONTEXT.Process(target=sync_until, args=(project, last, after))
    child.start()
    child.join(120)
    assert child.exitcode is not None, f"the sync that should end at call {last} hangs"
    return child.exitcode


def sync_until(project: Project, last: int, after: bool) -> None:
    """A sync whose `last` call is its end."""
    count = itertools.count(1)

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            mine = next(count) == last
            if mine and not after:
                os._exit(KILLED)
            made = real(*args, **more)
            if mine:
                os._exit(KILLED)
            return made

        return call

    for owner, names in CALLS.items():
        for name in names:
            setattr(owner, name, counted(getattr(owner, name)))
    try:
        sync.sync(project, print)
    finally:
        os._exit(0 if sync.pending(project) == [] else 1)


@pytest.mark.slow
def test_a_kill_at_every_call_leaves_one_run_one_version_and_no_orphan(project: Project) -> None:
    """The children come from a fork server, which has no threads and no open database."""
    ended(project, steps=3)
    killed = 0
    for call in itertools.count(1):
        runfile.update(project.workspace(RUN), recorded=False)
        status = sync_killed_at(project, call, after=bool(call % 2))
        if status == 0:
            break
        assert status == KILLED
        killed += 1
    assert killed >= 12
    client = tracking.client(project)
    versions = client.search_model_versions("name = 'pivotline'")
    assert len(versions) == 1
    (model,) = client.search_logged_models([tracking.experiment_id(client)])
    assert versions[0].source == f"models:/{model.model_id}"
    held = client.get_registered_model("pivotline").aliases
    assert {name: int(version) for name, version in held.items()} == {"candidate": 1, "champion": 1}
    assert len(client.search_runs([tracking.experiment_id(client)])) == 1
    assert points(client) == [1, 2, 3]
    run = tracking.find_run(client, RUN)
    assert run is not None
    assert run.info.status == "FINISHED"


def test_a_worker_catches_up_in_a_process_of_its_own(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing a version leaves a folder on the search path, which runs that are started later would inherit."""
    for name in ("dvc.yaml", "params.yaml"):
        (project.root / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setenv("PIVOTLINE_PROJECT", str(project.root))
    monkeypatch.setenv("PIVOTLINE_STATE", str(project.state))
    ended(project)
    said: list[str] = []
    path = list(sys.path)
    before = catching_up.catch_up(project, said.append)
    assert any(
        line.startswith(f"MLflow is level with run {RUN}:") and "registered as version 1" in line for line in said
    )
    assert sys.path == path
    assert catching_up.catch_up(project, said.append, before) == catching_up.NOTHING


def test_a_run_that_cannot_be_brought_level_is_named_once_and_tried_less_often(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("dvc.yaml", "params.yaml"):
        (project.root / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setenv("PIVOTLINE_PROJECT", str(project.root))
    monkeypatch.setenv("PIVOTLINE_STATE", str(project.state))
    ended(project)
    (project.workspace(RUN) / "artifacts" / "model" / "config.json").unlink()
    code, out, _ = command_line.ended(monkeypatch, capsys, "sync")
    assert (code, "is level with every run" in out, "cannot be brought level" in out) == (2, False, True)
    said: list[str] = []
    first = catching_up.catch_up(project, said.append)
    second = catching_up.catch_up(project, said.append, first)
    assert len([line for line in said if RUN in line and "cannot be brought level" in line]) == 1
    assert catching_up.pause_s(catching_up.NOTHING, first) == catching_up.EVERY_S
    assert catching_up.pause_s(first, second) == catching_up.RARELY_S


def test_a_run_that_was_deleted_in_mlflow_is_not_recorded_anew(project: Project) -> None:
    ended(project, steps=3)
    sync.sync(project, print)
    record = tracking.client(project)
    record.delete_run(tracking.find_run(record, RUN).info.run_id)  # type: ignore[union-attr]
    assert sync.sync(project, print, again=True).runs == ()
