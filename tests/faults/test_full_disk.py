"""A full disk in a save, the dataset cache, SQLite and a prune: what was there stays, and the sentence has bytes."""

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from checkout import copy_project
from small_disk import fill, free, small_disk
from trained import trained, write_curves

from dataset.versions import version
from flows import budget, dvccache, prune, runfile, sync, tracking, verdict, workspace
from flows.errors import REPORT_VARIABLE, RESOURCES, ResourceError, classify, read_report, stage_main
from flows.params import PruneConfig
from flows.project import Project
from flows.recorder import Recorder
from model import checkpoint

RUN, OTHER = "20261130-120000-aaaaaa", "20261130-120001-bbbbbb"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 24) as folder:
        yield folder


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def tensors(megabytes: float) -> dict[str, torch.Tensor]:
    return {"w": torch.zeros(int(megabytes * 2**18))}


def test_a_save_on_a_full_disk_keeps_the_older_ones(disk: Path) -> None:
    root = disk / "checkpoints"
    for step in (1, 2):
        checkpoint.save(root, step, tensors(4), None, {})
    before = digests(root)
    with pytest.raises(OSError, match="No space left") as caught:
        checkpoint.save(root, 3, tensors(20), None, {})
    assert digests(root) == before
    assert [entry.step for entry in checkpoint.list_complete(root)] == [1, 2]
    told = classify(caught.value)
    assert told.code == RESOURCES
    assert "20,971,600 bytes needed" in told.message
    assert f"{free(disk):,} bytes free" in told.message


def test_a_stage_tells_of_a_full_disk_on_the_full_disk(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def body() -> None:
        fill(disk)
        (disk / "more").write_bytes(b"x" * 100_000)

    monkeypatch.setenv(REPORT_VARIABLE, str(disk / "error.json"))
    monkeypatch.setattr("flows.owner.watch", lambda: None)
    with pytest.raises(SystemExit) as ended:
        stage_main(body)
    report = read_report(disk / "error.json")
    assert report is not None
    assert (ended.value.code, report.code) == (RESOURCES, RESOURCES)
    assert "No space left on device" in report.message


def project_on(disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose state folder and dataset cache are on the small disk."""
    made = copy_project(tmp_path / "project")
    shutil.rmtree(made.cache)
    (disk / "cache").mkdir()
    made.cache.symlink_to(disk / "cache")
    monkeypatch.setattr(budget, "check", lambda project, params: None)
    return Project(root=made.root, state=disk / "state")


@pytest.mark.parametrize("warned", [True, False])
def test_a_dataset_that_does_not_fit_leaves_the_original_alone(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warned: bool
) -> None:
    project = project_on(disk, tmp_path, monkeypatch)
    with (project.root / "data" / "annotations.csv").open("ab") as notes:
        notes.write(b" " * 1000)  # a version that the cache does not have
    (project.root / "data" / "large.bin").write_bytes(b"x" * 12_000_000)
    before = digests(project.root / "data")
    if not warned:
        monkeypatch.setattr(budget, "check_data", lambda project, folder: None)
    for _ in range(2):
        with pytest.raises((ResourceError, OSError)) as caught:
            workspace.create(project, RUN, {})
        told = classify(caught.value)
        assert told.code == RESOURCES
        assert "free" in told.message
        assert digests(project.root / "data") == before
        assert not project.workspace(RUN).exists()


def test_a_prune_needs_no_room_and_says_what_it_freed(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "RECENT_S", -1.0)
    project = Project(root=disk, state=disk / "state")
    root = project.workspace(RUN) / "checkpoints"
    for step in (1, 2, 3, 4):
        checkpoint.save(root, step, tensors(2), tensors(2), {"progress": {"best_step": 2}})
    record = {
        "run_id": RUN,
        "state": "done",
        "created_at": runfile.now(),
        "dataset_version": "",
        "params": {},
        "stages": {},
    }
    runfile.write(project.workspace(RUN), record | {"params": {}, "stages": {}})
    project.make_state()
    kept = {name: digest for name, digest in digests(root).items() if "00000004" in name}
    plan = prune.plan(project, PruneConfig(), None)
    fill(disk)
    assert free(disk) == 0
    done = prune.apply(project, PruneConfig(), None, plan)
    assert [entry.step for entry in checkpoint.list_complete(root)] == [2, 4]
    assert kept.items() <= digests(root).items()
    assert done.removed == 3
    assert abs(free(disk) - done.freed_bytes) <= 4 * 4096  # the manifest that was written anew, and folders
    assert done.freed_bytes > 8_000_000


def test_a_full_sqlite_costs_the_record_and_no_point(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    project = Project(root=disk, state=disk / "state")
    record, said = trained(project, RUN, steps=3), []
    tracking.client(project)
    ballast = fill(disk, spare_bytes=300_000)
    for path in (project.workspace(RUN) / "artifacts" / "curves").iterdir():
        path.unlink()
    write_curves(project.workspace(RUN), 3000)
    fill(project.state)
    recorder = Recorder(project, project.workspace(RUN), record, said.append)
    recorder.start()
    recorder.finish("FINISHED", {}, [])
    assert recorder.offline
    assert len(said) == 1
    ballast.unlink()
    (project.state / "ballast").unlink()
    runfile.update(project.workspace(RUN), state="failed", recorded=False)
    sync.sync(project, print)
    client = tracking.client(project)
    run = tracking.find_run(client, RUN)
    assert run is not None
    history = client.get_metric_history(run.info.run_id, "train/loss")
    assert sorted(point.step for point in history) == list(range(1, 3001))


def test_a_read_only_disk_is_one_sentence(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(ResourceError, match="read-only") as caught:
        Project(root=disk, state=disk / "state").make_state()
    assert classify(caught.value).code == RESOURCES


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copy_project(tmp_path_factory.mktemp("cache") / "project")


def test_a_damaged_cache_object_is_refused_though_it_is_read_only(small: Project) -> None:
    wanted = version(small.root / "data")
    digest, name = dvccache.listing(small.cache, wanted)[0]
    path = dvccache.place(small.cache, digest)
    intact = path.read_bytes()
    path.unlink()
    path.write_bytes(intact + b"x")
    path.chmod(0o444)
    with pytest.raises(ValueError, match=f"dataset version {wanted}: {name} is damaged in the cache"):
        workspace.create(small, RUN, {})
    path.unlink()
    with pytest.raises(ValueError, match=f"{name} is missing"):
        workspace.create(small, RUN, {}, dataset_version=wanted)
    path.write_bytes(intact)
    listed = dvccache.place(small.cache, wanted)
    saved = listed.read_bytes()
    listed.unlink()
    with pytest.raises(ValueError, match="list of files is missing"):
        workspace.create(small, RUN, {}, dataset_version=wanted)
    listed.write_bytes(saved)
    assert not small.runs.exists() or not list(small.runs.iterdir())


def test_data_that_changed_under_a_run_is_refused_and_a_lock_of_the_dead_is_cleared(small: Project) -> None:
    folder = workspace.create(small, OTHER, {})
    lock = folder / ".dvc" / "tmp" / "rwlock"
    lock.parent.mkdir(exist_ok=True)
    lock.write_text('{"x": {"write": {"pid": 1, "cmd": "dvc repro"}}}')
    workspace.ready(small, folder)
    assert not lock.exists()
    notes = folder / "data" / "annotations.csv"
    content = notes.read_bytes()
    notes.unlink()
    notes.write_bytes(content + b"\n")
    with pytest.raises(ValueError, match=r"expected .* as the run was asked for"):
        workspace.ready(small, folder)
