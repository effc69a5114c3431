"""Pruning: what is best, last, registered, in use or perhaps in the making stays; bytes are those really freed."""

import hashlib
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from record import give_record
from trained import trained

from flows import cache_users, disk, leases, prune, registry, remains, runfile, tracking, upkeep, verdict
from flows.ledger import Ledger
from flows.params import PruneConfig
from flows.process import Process
from flows.project import Project
from flows.versionview import DATASET_TAG, RUN_TAG
from model import checkpoint

RUN, OTHER, THIRD = "20261130-120000-aaaaaa", "20261130-120001-bbbbbb", "20261130-120002-cccccc"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(verdict, "RECENT_S", -1.0)
    made = Project(root=tmp_path / "project", state=tmp_path / "project" / "state")
    cache_users.sign(made)
    return give_record(made)


def checkpoints(project: Project, run_id: str, steps: tuple[int, ...], best: int, state: str = "done") -> Path:
    root = project.workspace(run_id) / "checkpoints"
    for step in steps:
        tensors = {"w": torch.full((5000,), float(step))}
        checkpoint.save(root, step, tensors, tensors, {"progress": {"best_step": best}})
    record: dict[str, Any] = {
        "run_id": run_id, "state": state, "created_at": runfile.now(), "dataset_version": "", "params": {}, "stages": {}
    }  # fmt: skip
    if state == "running":
        Ledger(project).begin(run_id, 1, Process.this())
    runfile.write(project.workspace(run_id), record)
    return root


def going(project: Project, policy: PruneConfig | None = None, client: Any = None) -> dict[str, str]:
    plan = prune.plan(project, policy or PruneConfig(), client)
    return {item.name: item.why for item in plan.items if item.goes}


def steps_left(root: Path) -> list[int]:
    return [entry.step for entry in checkpoint.list_complete(root)]


def apply(project: Project, policy: PruneConfig | None = None, client: Any = None) -> prune.Pruned:
    policy = policy or PruneConfig()
    return prune.apply(project, policy, client, prune.plan(project, policy, client))


def used(folder: Path) -> int:
    return sum(info.st_blocks * 512 for _, info in disk.entries(folder))


@pytest.mark.parametrize("value", [0, -1, -0.5])
def test_to_keep_nothing_is_refused(value: float) -> None:
    for key in ("keep_last", "keep_best"):
        with pytest.raises(ValueError, match=key):
            PruneConfig(**{key: int(value)} if value else {key: 0})
    with pytest.raises(ValueError, match="disk_budget_gb"):
        PruneConfig(disk_budget_gb=value)


def test_best_and_last_stay_in_the_order_of_the_manifest(project: Project) -> None:
    root = checkpoints(project, RUN, (9, 10, 100, 1000), best=10)
    for path in root.iterdir():
        os.utime(path, (1e9, 1e9))
    (root / "step-00000009").rename(root / "step-99999999")  # a name says nothing
    before = used(root)
    done = apply(project)
    assert steps_left(root) == [10, 1000]
    assert not (root / "step-00000010" / checkpoint.OPTIMIZER).exists()
    assert checkpoint.latest(root) is not None
    manifests = 2 * 4096  # the best one's manifest was written anew: a block may differ
    assert abs(done.freed_bytes - (before - used(root))) <= manifests
    assert done.removed == 3


def test_a_damaged_last_one_does_not_count_as_the_last(project: Project) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1)
    weights = root / "step-00000003" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\xff")
    apply(project)
    assert steps_left(root) == [1, 2]


def test_keeping_more_keeps_more(project: Project) -> None:
    root = checkpoints(project, RUN, (1, 2, 3, 4, 5), best=2)
    curve = root.parent / "artifacts" / "curves" / "validation.csv"
    curve.parent.mkdir(parents=True)
    curve.write_text("step,balanced_accuracy,action_loss\n1,0.9,1\n2,0.9,0.5\n3,,\n4,0.2,1\n5,0.1,1\n")
    apply(project, PruneConfig(keep_last=1, keep_best=2))
    assert steps_left(root) == [1, 2, 5]


@pytest.mark.parametrize(("state", "left"), [("queued", [1, 2, 3]), ("running", [1, 2, 3]), ("done", [1, 3])])
def test_a_live_or_waiting_run_keeps_everything(project: Project, state: str, left: list[int]) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1, state=state)
    apply(project)
    assert steps_left(root) == left


@pytest.mark.parametrize("state", ["failed", "crashed", "cancelled", "running"])
def test_what_a_resume_needs_stays(project: Project, state: str) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1, state=state)
    if state == "running":  # its process is gone
        Ledger(project).begin(RUN, 1, replace(Process.this(), pid=2**22 - 1))
    apply(project)
    newest = checkpoint.latest(root)
    assert newest is not None
    assert newest.step == 3


def test_a_lease_taken_after_the_plan_is_respected(project: Project) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1)
    plan = prune.plan(project, PruneConfig(), None)
    with leases.held(project, f"run:{RUN}", "a page has it open"):
        done = prune.apply(project, PruneConfig(), None, plan)
        assert done.removed == 0
        assert any("in use by now" in note for note in done.notes)
        assert "a page has it open" in [item.why for item in prune.plan(project, PruneConfig(), None).items]
    assert steps_left(root) == [1, 2, 3]
    apply(project)
    assert steps_left(root) == [1, 3]


def test_checkpoints_stay_where_the_record_of_their_run_is_gone(project: Project) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1)
    (project.workspace(RUN) / runfile.NAME).unlink()
    apply(project)
    assert steps_left(root) == [1, 2, 3]


@pytest.mark.parametrize("text", ["[" * 200_000, "5", '{"until": "x"}'])
def test_a_damaged_lease_holds_nothing_and_stops_nobody(project: Project, text: str) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1)
    path = leases.take(project, f"run:{OTHER}", "open")
    path.with_name("damaged.json").write_text(text)
    path.with_name("folder.json").mkdir()
    assert leases.holder(project, f"run:{OTHER}") == "open"
    apply(project)
    assert steps_left(root) == [1, 3]


def test_a_lease_ends_with_its_process_and_its_time(project: Project) -> None:
    path = leases.take(project, f"run:{RUN}", "gone")
    lease = json.loads(path.read_text())
    path.write_text(json.dumps(lease | {"owner": lease["owner"] | {"pid": 2**22 - 1}}))
    leases.take(project, f"run:{RUN}", "late", lasts_s=-1.0)
    assert leases.holder(project, f"run:{RUN}") == ""


def test_links_are_removed_and_never_followed(project: Project, tmp_path: Path) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x" * 5000)
    for name, target in (("a", outside), ("b", root / "step-00000001"), ("c", tmp_path / "nowhere"), ("d", root)):
        (root / f"step-0000001{name}").symlink_to(target)
    (root / "step-00000002" / "inside").symlink_to(outside)
    (root / "step-00000002" / "again").hardlink_to(outside / "precious")
    done = apply(project)
    assert (outside / "precious").read_text() == "x" * 5000
    assert steps_left(root) == [1, 3]
    assert sorted(path.name for path in root.iterdir()) == ["step-00000001", "step-00000003"]
    assert done.freed_bytes < 100_000 + 4096 * 8


def test_a_linked_checkpoints_folder_or_run_is_nobody_s(project: Project, tmp_path: Path) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1)
    moved = root.rename(tmp_path / "elsewhere")
    root.symlink_to(moved)
    (project.runs / OTHER).symlink_to(project.workspace(RUN))
    assert going(project) == {}


def test_what_may_be_in_the_making_stays(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1)
    (root / ".saving-00000004").mkdir()
    (root / "step-00000002" / "manifest.json").unlink()
    project.workspace(OTHER).mkdir(parents=True)
    assert set(going(project)) == {
        "part .saving-00000004", "damaged checkpoint step-00000002", "unfinished workspace",
        "optimiser state of checkpoint 1",
    }  # fmt: skip
    monkeypatch.setattr(verdict, "RECENT_S", 3600.0)
    assert set(going(project)) == {"optimiser state of checkpoint 1"}


def register(project: Project, run_id: str) -> tuple[Any, str]:
    client, record = tracking.client(project), trained(project, run_id)
    run = client.create_run(
        tracking.experiment_id(client), tags={RUN_TAG: run_id, DATASET_TAG: record["dataset_version"]}
    )
    registry.register(project, client, run.info.run_id, project.workspace(run_id), record)
    runfile.update(project.workspace(run_id), state="done")
    return client, str(run.info.run_id)


def test_only_models_that_no_version_needs_go_from_mlflow(project: Project) -> None:
    client, first = register(project, RUN)
    _, second = register(project, OTHER)
    client.log_text(second, "x" * 9000, "notes.txt")
    assert {name for name in going(project, client=client) if name.startswith(("model", "files"))} == set()
    client.delete_run(first)  # still registered: its model stays
    client.delete_run(second)
    client.delete_model_version("pivotline", "2")
    names = going(project, client=client)
    assert f"files of run {second}" in names
    assert len([name for name in names if name.startswith("model ")]) == 1
    before = used(project.state / "mlartifacts")
    done = apply(project, client=client)
    assert before - used(project.state / "mlartifacts") <= done.freed_bytes
    assert (project.state / "mlartifacts" / "models").is_dir()
    assert len(list((project.state / "mlartifacts" / "models").rglob("weights.safetensors"))) == 1
    assert {name for name in going(project, client=client) if name.startswith(("model", "files"))} == set()


def put(cache: Path, content: bytes) -> str:
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    path = cache / "files" / "md5" / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return digest


def put_folder(cache: Path, files: dict[str, bytes]) -> str:
    listing = json.dumps([{"md5": put(cache, content), "relpath": name} for name, content in files.items()])
    digest = hashlib.md5(listing.encode(), usedforsecurity=False).hexdigest()
    path = cache / "files" / "md5" / digest[:2] / f"{digest[2:]}.dir"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(listing)
    return f"{digest}.dir"


def dataset(cache: Path, word: str) -> str:
    return put_folder(cache, {"dataset.json": word.encode(), "annotations.csv": word.encode() * 3000})


def pointer(folder: Path, version: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.dvc").write_text(f"outs:\n- md5: {version}\n  path: data\n")


def git(root: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


def test_no_dataset_that_anything_names_goes(project: Project) -> None:
    cache = project.cache
    committed, current, used_by_run, trained_with, remote, unnamed = (
        dataset(cache, word) for word in ("committed", "current", "used", "trained", "remote", "unnamed")
    )
    git(project.root, "init", "--quiet")
    for version in (committed, current):
        pointer(project.root, version)
        git(project.root, "add", "data.dvc")
        git(project.root, "commit", "--quiet", "-m", "data")
    checkpoints(project, RUN, (1,), best=1)
    pointer(project.workspace(RUN), used_by_run)
    (project.root / ".dvc" / "config").write_text("['remote \"there\"']\n    url = there\n")
    dataset(project.root / ".dvc" / "there", "remote")
    client = tracking.client(project)
    for version in (trained_with, remote):
        client.create_run(tracking.experiment_id(client), tags={DATASET_TAG: version})
    names = going(project, client=client)
    for version, stays in (
        (committed, True), (current, True), (used_by_run, True), (trained_with, True), (remote, False), (unnamed, False)
    ):  # fmt: skip
        assert (f"object {version[:9]}" not in names) is stays, version
    assert going(project, client=None) == {}
    before = used(cache)
    done = apply(project, client=client)
    assert done.removed == 6  # two versions of a listing and two files each
    assert done.freed_bytes == before - used(cache)


def test_a_lost_history_keeps_every_dataset(project: Project) -> None:
    version = dataset(project.cache, "unnamed")
    (project.root / ".git").mkdir()  # git cannot read it
    client = tracking.client(project)
    assert f"object {version[:9]}" not in going(project, client=client)


def test_what_preprocess_makes_again_goes_with_its_object(project: Project) -> None:
    for run_id in (RUN, OTHER, THIRD):
        checkpoints(project, run_id, (1,), best=1, state="failed" if run_id == OTHER else "done")
        samples = project.workspace(run_id) / "artifacts" / "samples.npz"
        samples.parent.mkdir()
        digest = put(project.cache, run_id.encode() * 2000)
        samples.hardlink_to(project.cache / "files" / "md5" / digest[:2] / digest[2:])
        lock = {"stages": {"preprocess": {"outs": [{"path": "artifacts/samples.npz", "md5": digest}]}}}
        (project.workspace(run_id) / "dvc.lock").write_text(json.dumps(lock))
    client = tracking.client(project)
    plan = prune.plan(project, PruneConfig(), client)
    gone = [item for item in plan.items if item.goes]
    assert [(item.place, item.run_id) for item in gone] == [("run", RUN), ("dvc", None)]
    assert [item.bytes > 0 for item in gone] == [False, True]  # the first of two names frees nothing
    assert gone[0].why == "preprocess makes it again; bytes shared"
    done = prune.apply(project, PruneConfig(), client, plan)
    assert done.freed_bytes == plan.free_bytes > 40_000
    assert (project.workspace(OTHER) / "artifacts" / "samples.npz").exists()
    assert (project.workspace(THIRD) / "artifacts" / "samples.npz").exists()


def test_bytes_of_a_file_with_many_names_count_once(tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("goes too", "one", "other", "last")]
    names[0].write_bytes(bytes(2**16))
    for name in names[1:]:
        os.link(names[0], name)
    judged = [("run", verdict.verdict(name, name.name, name == names[0], "why", None)) for name in names]
    planned = prune.weighed(judged, 0, ())
    assert [item.bytes for item in planned.items] == [0, 2**16, 0, 0]
    assert (planned.free_bytes, planned.kept_bytes) == (0, 2**16)
    every = [(place, replace(entry, goes=True)) for place, entry in judged]
    assert prune.weighed(every, 0, ()).free_bytes == 2**16


def test_prune_never_races_a_registration(project: Project) -> None:
    """A version made between the plan and the removal keeps its model."""
    client, _ = register(project, RUN)
    model = next(iter(client.search_logged_models([tracking.experiment_id(client)])))
    client.delete_model_version("pivotline", "1")
    (item,) = [entry for entry in prune.plan(project, PruneConfig(), client).items if entry.name.startswith("model")]
    assert item.goes
    client.create_model_version("pivotline", f"models:/{model.model_id}", None)
    assert remains.remove(project, client, prune.as_verdict(item)) is None
    assert Path(str(item.path)).is_dir()


def copy_of_model(project: Project, number: int) -> Path:
    folder = project.state / "models" / "pivotline" / f"{number}-{RUN}"
    folder.mkdir(parents=True)
    (folder / "weights.safetensors").write_bytes(b"w" * 9000)
    return folder


def test_a_copy_that_nobody_reads_goes_and_the_champion_s_stays(project: Project) -> None:
    client, _ = register(project, RUN)
    champion, old = copy_of_model(project, 1), copy_of_model(project, 7)
    assert not [name for name in going(project) if name.startswith("copy")]  # without MLflow it may be the only one
    leases.renew(project, "version:pivotline-7", leases.OPEN)
    assert not [name for name in going(project, client=client) if name.startswith("copy")]
    plan = prune.plan(project, PruneConfig(), client)
    assert {item.why for item in plan.items if item.place == "copy"} == {
        "an alias points to it: it serves while MLflow is down", leases.OPEN,
    }  # fmt: skip
    for path in (project.locks / "leases").glob("*.json"):
        path.unlink()
    plan = prune.plan(project, PruneConfig(), client)
    leases.renew(project, "version:pivotline-7", leases.USED)
    prune.apply(project, PruneConfig(), client, plan)
    assert old.is_dir()  # somebody began to use it after the plan
    for path in (project.locks / "leases").glob("*.json"):
        path.unlink()
    done = apply(project, client=client)
    assert (champion.is_dir(), old.is_dir()) == (True, False)
    assert done.freed_bytes >= 9000


def test_a_dataset_that_was_laid_out_goes_unless_it_is_the_only_one(project: Project) -> None:
    version = dataset(project.cache, "a")
    for name in (version, "0" * 32 + ".dir"):
        folder = project.state / "datasets" / name.removesuffix(".dir")
        folder.mkdir(parents=True)
        (folder / "dataset.json").write_text("x")
    leases.renew(project, f"dataset:{version}", leases.OPEN)
    assert not [name for name in going(project) if name.startswith("copy")]
    for path in (project.locks / "leases").glob("*.json"):
        path.unlink()
    assert [name for name in going(project) if name.startswith("copy")] == [f"copy of dataset {version[:9]}"]
    assert [item.why for item in prune.plan(project, PruneConfig(), None).items if "000000000" in item.name] == [
        "the cache does not have all of it"
    ]


def test_a_lease_is_one_file_however_often_it_is_renewed(project: Project) -> None:
    for _ in range(3):
        leases.renew(project, f"run:{RUN}", leases.OPEN)
    leases.renew(project, f"run:{OTHER}", leases.OPEN)
    assert len(list((project.locks / "leases").glob("*.json"))) == 2
    assert leases.holder(project, f"run:{RUN}") == leases.OPEN


def test_what_a_page_shows_is_held(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkpoints(project, RUN, (1, 2, 3), best=1)
    monkeypatch.setattr(upkeep, "find_project", lambda: project)
    upkeep.hold(runs=[RUN])
    assert not [name for name in going(project) if name.startswith("checkpoint")]
    apply(project)
    assert steps_left(root) == [1, 2, 3]
    (lease,) = (project.locks / "leases").glob("*.json")
    lease.write_text(json.dumps(json.loads(lease.read_text()) | {"until": 0}))  # the page was closed ten minutes ago
    apply(project)
    assert steps_left(root) == [1, 3]
