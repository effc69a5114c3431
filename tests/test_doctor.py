"""The doctor: every promise that is broken on purpose is named with its remedy, and a healthy project has none."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from record import give_record, template
from trained import trained

from flows import doctor, runfile, sync, tracking
from flows.checks.finding import BROKEN
from flows.ledger import Ledger
from flows.process import Process
from flows.project import Project
from model import checkpoint
from model.content import sha256

RUN, OTHER = "20261130-120000-aaaaaa", "20261130-120001-bbbbbb"
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one finished, registered run whose checkpoints are there."""
    root = tmp_path_factory.mktemp("healthy") / "project"
    root.mkdir()
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy2(ROOT / name, root / name)
    before = os.environ.pop("MLFLOW_TRACKING_URI", None)
    project = give_record(Project(root=root, state=root / "state"))
    record = trained(project, RUN)
    workspace = project.workspace(RUN)
    tensors = {"w": torch.zeros(100)}
    for step in (2, 5):
        checkpoint.save(workspace / "checkpoints", step, tensors, tensors, {"progress": {"best_step": 2}})
    report = workspace / "artifacts" / "train.json"
    report.write_text(json.dumps(json.loads(report.read_text()) | {"updates": 5}))
    result = {"registered": None, "weights_sha256": sha256(workspace / "artifacts" / "model" / "weights.safetensors")}
    runfile.write(workspace, record | {"state": "done", "recorded": False, "result": result})
    sync.sync(project, print)
    if before:
        os.environ["MLFLOW_TRACKING_URI"] = before
    return project


@pytest.fixture
def project(healthy: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """The healthy project put back as it was after the test; MLflow's paths are absolute, so it stays in its place."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    saved = shutil.copytree(healthy.root, tmp_path / "saved", symlinks=True)
    yield healthy
    for path in (*healthy.root.iterdir(), *healthy.state.iterdir()):
        if path.is_dir() and path != healthy.state:
            shutil.rmtree(path)
        elif path.name.startswith((".data.import", "data.dvc", "ledger")):
            path.unlink()
    shutil.copytree(saved, healthy.root, symlinks=True, dirs_exist_ok=True)  # MLflow's file keeps its inode


def broken(project: Project) -> list[str]:
    report = doctor.examine(project)
    found = [entry for entry in report.findings if entry.level == BROKEN]
    assert report.healthy is (not found)
    assert (report.code == 0) is (not found)
    assert all(entry.remedy for entry in found)
    return [f"{entry.area}: {entry.text}" for entry in found]


def damage(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def one(project: Project, pattern: str) -> Path:
    (found,) = project.root.glob(pattern)
    return found


def age(path: Path) -> None:
    os.utime(path, (time.time() - 7200, time.time() - 7200))


def stale_save(project: Project) -> None:
    path = project.workspace(RUN) / "checkpoints" / ".saving-00000009"
    path.mkdir()
    age(path)


def stale_import(project: Project) -> None:
    path = project.root / ".data.import-x1"
    path.mkdir()
    age(path)


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def dead_run(project: Project) -> None:
    trained(project, OTHER)
    Ledger(project).begin(OTHER, 1, replace(Process.this(), pid=2**22 - 1))


def damaged_record(project: Project) -> None:
    trained(project, OTHER)
    (project.workspace(OTHER) / runfile.NAME).write_text("{")


def lost_points(project: Project) -> None:
    path = project.workspace(RUN) / "artifacts" / "curves" / "train.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-2]))


def left_running(project: Project) -> None:
    client = tracking.client(project)
    run = tracking.find_run(client, RUN)
    assert run is not None
    client.update_run(run.info.run_id, status="RUNNING")


def twice(project: Project) -> None:
    client = tracking.client(project)
    version = client.get_model_version("pivotline", "1")
    client.create_model_version("pivotline", version.source, version.run_id, tags=version.tags)


def stale_lock(project: Project) -> None:
    path = project.root / ".dvc" / "tmp" / "rwlock"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"data": {"write": {"pid": 2**22 - 1, "cmd": "dvc add"}}}))


def damaged_object(project: Project) -> None:
    folder = project.root / ".dvc" / "cache" / "files" / "md5" / "ab"
    folder.mkdir(parents=True)
    (folder / ("c" * 30)).write_text("not that")
    (project.root / "data.dvc").write_text(f"outs:\n- md5: ab{'c' * 30}\n  path: data\n")
    (project.root / "data").mkdir()


def lost_dataset(project: Project) -> None:
    shutil.copy2(ROOT / "data.dvc", project.workspace(RUN) / "data.dvc")


MODELS = "state/mlartifacts/models/*/artifacts/artifacts/model"
CASES: list[tuple[Callable[[Project], Any], str]] = [
    (lambda p: damage(p.workspace(RUN) / "checkpoints/step-00000002/weights.safetensors"), "SHA-256 differs"),
    (lambda p: shutil.rmtree(p.workspace(RUN) / "checkpoints/step-00000005"), "last checkpoint, of update 5, is gone"),
    (lambda p: damage(p.workspace(RUN) / "artifacts/model/weights.safetensors"), "its model is gone or changed"),
    (stale_save, "left over"),
    (stale_import, "left over"),
    (dead_run, "ended without a word"),
    (damaged_record, "cannot be read as a run's record"),
    (lambda p: damage(one(p, f"{MODELS}/weights.safetensors")), "weights.safetensors changed"),
    (lambda p: shutil.rmtree(one(p, MODELS)), "lost its files"),
    (lost_points, "ends at update 3, that in MLflow at 5"),
    (left_running, "MLflow shows it as running"),
    (twice, "registered 2 times"),
    (damaged_object, "is damaged"),
    (lost_dataset, "list of files is missing"),
]


def test_a_healthy_project_has_nothing_broken(project: Project) -> None:
    assert broken(project) == []


@pytest.mark.parametrize(("spoil", "words"), CASES)
def test_what_is_broken_is_named(project: Project, spoil: Callable[[Project], Any], words: str) -> None:
    spoil(project)
    assert any(words in text for text in broken(project)), broken(project)


def test_what_may_be_in_the_making_is_not_called_stale(project: Project) -> None:
    (project.workspace(RUN) / "checkpoints" / ".saving-00000009").mkdir()
    trained(project, OTHER)
    Ledger(project).begin(OTHER, 1, Process.this())
    assert broken(project) == []


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b"not a database" * 999), folder_instead])
def test_a_record_that_cannot_be_read_is_no_promise_that_holds(
    project: Project, tmp_path: Path, spoil: Callable[[Path], Any]
) -> None:
    """MLflow keeps its connection to the file, so a copy of the project is spoilt."""
    copy = Project(root=project.root, state=shutil.copytree(project.state, tmp_path / "copy", symlinks=True))
    spoil(copy.state / "mlflow.db")
    assert any("versions and records are whole cannot be told" in text for text in broken(copy)), broken(copy)


def test_runs_that_mlflow_lost_are_told(project: Project, tmp_path: Path) -> None:
    copy = Project(root=project.root, state=shutil.copytree(project.state, tmp_path / "copy", symlinks=True))
    shutil.copyfile(template(), copy.state / "mlflow.db")
    assert any("not in MLflow any more" in entry.text for entry in doctor.examine(copy).findings)


def test_a_lock_that_dvc_left_is_told(project: Project) -> None:
    stale_lock(project)
    assert any("which is gone" in entry.text for entry in doctor.examine(project).findings)


def test_a_server_that_is_down_is_a_service_down(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    report = doctor.examine(project)
    assert report.code == 4
