"""A run workspace is frozen when the run is asked for: settings, source and dataset."""

import fcntl
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import copy_project

from dataset.versions import tracked_version, version
from flows import runfile, workspace
from flows.project import Project

RUN = "20261130-120000-abcdef"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copy_project(tmp_path_factory.mktemp("workspace") / "project")


def test_checkpoints_without_a_record_are_not_overwritten(project: Project, tmp_path: Path) -> None:
    own = Project(root=project.root, state=tmp_path / "state")
    kept = own.workspace(RUN) / "checkpoints" / "step-00000001"
    kept.mkdir(parents=True)
    with pytest.raises(ValueError, match=r"has checkpoints and no run\.json"):
        workspace.create(own, RUN, {})
    assert kept.is_dir()


def test_an_attempt_uses_the_cache_where_it_is_now(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout that was renamed takes its cache with it."""
    folder = workspace.create(project, "20261130-120029-abcdef", {})
    cache = shutil.copytree(project.cache, project.root / "moved")
    monkeypatch.setenv("PIVOTLINE_CACHE", str(cache))
    workspace.ready(project, folder)
    assert f"dir = {cache}\n" in (folder / ".dvc" / "config").read_text()


def test_a_workspace_holds_settings_source_and_data(project: Project) -> None:
    folder = workspace.create(project, RUN, {"train": {"seed": 11}})
    record = runfile.read(folder)
    assert record is not None
    assert record["params"]["train"]["seed"] == 11
    assert record["state"] == "queued"
    assert version(folder / "data") == record["dataset_version"] == tracked_version(project.root / "data.dvc")
    code = "import flows.params, dataset.samples, model.presets as m; print(flows.params.__file__); print(m.__file__)"
    out = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert all(line.startswith(str(folder)) for line in out.split())


def test_asking_twice_gives_the_same_workspace(project: Project) -> None:
    first = workspace.create(project, RUN, {"train": {"seed": 11}})
    before = (first / "run.json").read_text()
    assert workspace.create(project, RUN, {"train": {"seed": 99}}) == first
    assert (first / "run.json").read_text() == before


def test_editing_the_data_later_changes_nothing(project: Project) -> None:
    folder = workspace.create(project, "20261130-120001-abcdef", {})
    frozen = version(folder / "data")
    note = project.root / "data" / "annotations.csv"
    original = note.read_bytes()
    note.chmod(0o644)
    note.write_bytes(original.replace(b"simulated", b"edited", 1))
    edited = workspace.create(project, "20261130-120002-abcdef", {})
    assert version(folder / "data") == frozen
    assert version(edited / "data") == version(project.root / "data") != frozen
    note.write_bytes(original)
    older = workspace.create(project, "20261130-120003-abcdef", {}, dataset_version=version(edited / "data")[:10])
    assert version(older / "data") == version(edited / "data")


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"train": {"epocs": 1}}, {}, "unknown key train.epocs"),
        ({}, {"data": Path("/nowhere/at/all")}, "no such folder"),
        ({}, {"dataset_version": "feed"}, "not known"),
    ],
)
def test_what_cannot_be_used_leaves_nothing_behind(project: Project, changes: dict, kind: dict, words: str) -> None:
    before = sorted(project.runs.iterdir())
    with pytest.raises(ValueError, match=words):
        workspace.create(project, "20261130-120009-abcdef", changes, **kind)
    assert sorted(project.runs.iterdir()) == before


@pytest.mark.parametrize("name", ["../x", "..", "", "a/b", "20261130-120000-abcdeg", "20261130-120000-abcdef\n", "-rf"])
def test_a_run_id_is_no_path(project: Project, name: str) -> None:
    with pytest.raises(ValueError, match="run id"):
        workspace.create(project, name, {})


def test_a_link_of_thousands_of_letters_is_refused_in_a_short_sentence(project: Project) -> None:
    with pytest.raises(ValueError, match="run id 'aaa") as refused:
        workspace.create(project, "a" * 3000, {})
    assert len(str(refused.value)) < 200


def test_a_half_made_workspace_is_made_again(project: Project) -> None:
    name = "20261130-120004-abcdef"
    (project.runs / name / "data").mkdir(parents=True)
    (project.runs / name / "data" / "half").write_text("x")
    folder = workspace.create(project, name, {})
    assert not (folder / "data" / "half").exists()
    assert json.loads((folder / "run.json").read_text())["run_id"] == name


def test_a_dvc_that_works_in_the_checkout_holds_up_no_run(project: Project) -> None:
    """DVC itself waits for its lock there, and gives up; a run's own folder has a lock of its own."""
    lock = project.root / ".dvc" / "tmp" / "lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        command = [sys.executable, "-m", "dvc", "status"]
        refused = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
        assert "Unable to acquire lock" in refused.stderr
        made = workspace.create(project, "20261130-120009-abcdef", {})
    assert (made / "data" / "dataset.json").is_file()
