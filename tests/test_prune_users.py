"""Pruning a cache that others use: what the runs of any state folder need stays, and what may be anybody's too."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from test_prune import OTHER, apply, checkpoints, dataset, going, pointer, project, put

from flows import cache_users, prune, tracking
from flows.params import PruneConfig
from flows.project import Project

__all__ = ["project"]


@pytest.fixture
def second(project: Project, tmp_path: Path) -> Project:
    """Another state folder of the same checkout, with a run of its own."""
    made = Project(root=project.root, state=tmp_path / "second")
    made.make_state()
    cache_users.sign(made)
    return made


def trains(user: Project, word: str, run_id: str = OTHER) -> str:
    version = dataset(user.cache, word)
    checkpoints(user, run_id, (1,), best=1)
    pointer(user.workspace(run_id), version)
    return version


def notes(project: Project) -> str:
    return " ".join(prune.plan(project, PruneConfig(), tracking.client(project)).notes)


def objects(project: Project) -> list[str]:
    return [name for name in going(project, client=tracking.client(project)) if name.startswith("object")]


def test_what_the_runs_of_another_state_folder_use_stays(project: Project, second: Project) -> None:
    version = trains(second, "theirs")
    output = put(project.cache, b"their samples")
    samples = second.workspace(OTHER) / "artifacts" / "samples.npz"
    samples.parent.mkdir()
    samples.symlink_to(project.cache / "files" / "md5" / output[:2] / output[2:])
    (second.workspace(OTHER) / "dvc.lock").write_text(
        f"stages:\n  preprocess:\n    outs:\n    - path: artifacts/samples.npz\n      md5: {output}\n"
    )
    unnamed = put(project.cache, b"nobody's")
    assert objects(project) == [f"object {unnamed[:9]}"]
    apply(project, client=tracking.client(project))
    assert samples.read_bytes() == b"their samples"
    shutil.rmtree(second.workspace(OTHER))  # a dataset may be named in a record that is not ours to ask
    assert objects(project) == [f"object {output[:9]}"]
    assert (project.cache / "files" / "md5" / version[:2] / version[2:]).exists()


def gone(user: Project) -> None:
    shutil.rmtree(user.state)


def not_mounted(user: Project) -> None:
    gone(user)
    user.state.mkdir()


def unreadable(user: Project) -> None:
    (user.workspace(OTHER) / "data.dvc").unlink()
    (user.workspace(OTHER) / "data.dvc").mkdir()


def moved_away(user: Project) -> None:
    user.workspace(OTHER).rename(user.runs / "away")
    user.workspace(OTHER).symlink_to(user.runs / "nowhere")


def all_moved_away(user: Project) -> None:
    user.runs.rename(user.state / "away")
    user.runs.symlink_to(user.state / "nowhere")


def spoiled(user: Project) -> None:
    cache_users.note(user).write_text("[" * 200_000)


def unnamed(user: Project) -> None:
    cache_users.note(user).write_text("{}")


@pytest.mark.parametrize("spoil", [gone, not_mounted, unreadable, moved_away, all_moved_away, spoiled, unnamed])
def test_a_user_that_cannot_be_asked_keeps_the_whole_cache(
    project: Project, second: Project, spoil: Callable[[Project], None]
) -> None:
    trains(second, "theirs")
    put(project.cache, b"nobody's")
    assert objects(project) != []
    spoil(second)
    assert objects(project) == []
    assert "nothing of the dataset cache goes" in notes(project)
    cache_users.note(second).unlink()
    if spoil is not unreadable:
        assert objects(project) != []  # as the note says


def test_what_was_there_before_the_notes_stays(project: Project) -> None:
    old, new = put(project.cache, b"old"), put(project.cache, b"new")
    os.utime(project.cache / "files" / "md5" / old[:2] / old[2:], (1e9, 1e9))
    assert objects(project) == [f"object {new[:9]}"]
    assert "1 objects stay" in notes(project)
    assert f"write 0 into {cache_users.first(project)}" in notes(project)
    cache_users.note(project).unlink()
    cache_users.first(project).unlink()
    assert objects(project) == []
    assert "2 objects stay" in notes(project)
    cache_users.first(project).write_text("0")
    assert len(objects(project)) == 2


def test_a_user_that_goes_takes_no_date_with_it(project: Project) -> None:
    since = cache_users.since(project)
    cache_users.sign(second := Project(root=project.root, state=project.state.with_name("second")))
    cache_users.note(project).unlink()
    os.utime(cache_users.note(second), (2e9, 2e9))
    assert cache_users.since(project) == since


def test_a_note_is_left_once_and_keeps_its_time(project: Project) -> None:
    since = cache_users.since(project)
    cache_users.note(project).touch()
    cache_users.sign(project)
    assert cache_users.since(project) == since
    assert [path.name for path in cache_users.notes(project)] == [cache_users.note(project).name]


def test_two_checkouts_may_share_a_cache(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIVOTLINE_CACHE", str(project.cache))
    root = tmp_path / "checkout"
    foreign = Project(root=root, state=root / "state")
    foreign.make_state()
    cache_users.sign(foreign)
    digest = put(project.cache, b"of the other's data.dvc")
    assert f"object {digest[:9]}" in objects(project)
    (root / "data.dvc").write_text(f"outs:\n- md5: {digest}\n  path: data\n")
    assert objects(project) == []
