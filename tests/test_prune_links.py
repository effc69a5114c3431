"""Pruning stays inside the state folder: no link on the way is followed, and what is not ours by its name is left."""

import os
import time
from pathlib import Path

import pytest
from test_prune import OTHER, RUN, THIRD, apply, checkpoints, going, pointer, project, put, put_folder, register

from flows import disk, prune, verdict
from flows.checks.checkpoints import stale
from flows.checks.finding import BROKEN
from flows.needs import needs
from flows.params import PruneConfig
from flows.project import Project

__all__ = ["project"]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def filled(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "thesis.txt").write_text("precious")
    return folder


def everything(project: Project) -> None:
    """One of each kind of thing that could go."""
    checkpoints(project, RUN, (1, 2, 3), best=1)
    for run_id in (OTHER, THIRD):
        samples = checkpoints(project, run_id, (1,), best=1).parent / "artifacts" / "samples.npz"
        filled(samples.parent)
        samples.write_bytes(b"s")
    filled(project.workspace("20261130-120003-dddddd"))
    filled(project.state / "models" / "pivotline" / f"7-{RUN}")
    digest = put_folder(project.cache, {"dataset.json": b"1"})
    filled(project.state / "datasets" / digest.removesuffix(".dir"))
    filled(project.state / "datasets" / f".removing-{'0' * 32}")


LINKED = ("runs", f"runs/{RUN}", f"runs/{RUN}/checkpoints", "models", "models/pivotline", "datasets", "mlartifacts")


@pytest.mark.parametrize("name", LINKED)
def test_nothing_goes_through_a_link(project: Project, tmp_path: Path, name: str) -> None:
    """The victim holds just what would go if the link were a folder."""
    client, second = register(project, "20261130-120004-eeeeee")
    client.delete_model_version("pivotline", "1")
    client.delete_run(second)
    everything(project)
    inside, victim = project.state / name, tmp_path / "victim"
    inside.rename(victim)
    before = content(victim)
    inside.symlink_to(victim)
    apply(project, client=client)
    assert content(victim) == before
    inside.unlink()
    victim.rename(inside)
    apply(project, client=client)
    assert content(inside) != before  # without the link some of it goes


def test_a_link_that_comes_after_the_plan_is_not_followed(project: Project, tmp_path: Path) -> None:
    everything(project)
    client, _ = register(project, "20261130-120004-eeeeee")
    plan = prune.plan(project, PruneConfig(), client)
    models, victim = project.state / "models", tmp_path / "victim"
    models.rename(victim)
    models.symlink_to(victim)
    prune.apply(project, PruneConfig(), client, plan)
    assert (victim / "pivotline" / f"7-{RUN}" / "thesis.txt").exists()
    with pytest.raises(OSError, match="link"):
        disk.remove(project, models / "pivotline" / f"7-{RUN}")
    with pytest.raises(OSError, match="outside"):
        disk.remove(project, filled(tmp_path / "elsewhere"))


def test_the_state_folder_itself_may_be_a_link(project: Project, tmp_path: Path) -> None:
    everything(project)
    moved = project.state.rename(tmp_path / "moved")
    project.state.symlink_to(moved)
    assert len(going(project)) > 3
    apply(project)
    assert not (moved / "runs" / RUN / "checkpoints" / "step-00000002").exists()


def test_what_linked_runs_use_stays_in_the_cache(project: Project, tmp_path: Path) -> None:
    version = put_folder(project.cache, {"dataset.json": b"2"})
    checkpoints(project, RUN, (1,), best=1)
    pointer(project.workspace(RUN), version)
    moved = project.runs.rename(tmp_path / "moved")
    project.runs.symlink_to(moved)
    assert version in needs(project, set()).why


def test_a_linked_cache_folder_is_left_alone(project: Project, tmp_path: Path) -> None:
    digest = put(project.cache, b"unnamed")
    assert f"object {digest[:9]}" in going(project)
    folder = project.cache / "files"
    moved = folder.rename(tmp_path / "moved")
    folder.symlink_to(moved)
    assert f"object {digest[:9]}" not in going(project)


STRANGE = (
    "models/pivotline/1x-abc", "models/pivotline/1-mine", "models/pivotline/٣-", "models/pivotline/007",
    "datasets/mine", "datasets/.removing-mine", "runs/.removing-mine", "runs/mine",
    f"runs/{RUN}/checkpoints/notes", f"runs/{RUN}/checkpoints/step-mine",
)  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_what_is_not_ours_by_its_name_is_left_alone(project: Project, name: str) -> None:
    client, _ = register(project, OTHER)
    checkpoints(project, RUN, (1, 2, 3), best=1)
    filled(project.state / name)
    apply(project, client=client)
    assert (project.state / name / "thesis.txt").exists()


LEFT = (
    f"runs/.removing-{RUN}", f"datasets/.removing-{'0' * 32}", f"datasets/.{'0' * 32}.restoring",
    f"models/pivotline/.removing-7-{RUN}", f"models/pivotline/.fetching-7-{RUN}", "mlartifacts/m-1/.removing-artifacts",
    f"runs/{RUN}/checkpoints/.removing-step-00000001",
)  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_interrupted_work_left_is_told_and_goes(
    project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints(project, RUN, (1,), best=1)
    path = filled(project.state / name)
    monkeypatch.setattr(verdict, "RECENT_S", 3600.0)
    assert going(project) == {}
    long_ago = time.time() - 5 * 86400
    for entry in (path, path / "thesis.txt"):
        os.utime(entry, (long_ago, long_ago))
    assert any(name in entry.text for entry in stale(project) if entry.level == BROKEN)
    monkeypatch.setattr(verdict, "RECENT_S", -1.0)
    apply(project)
    assert not path.exists()
