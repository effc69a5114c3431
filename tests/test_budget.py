"""A run that cannot keep two checkpoints is refused before anything starts, with the free and the needed bytes."""

import shutil
from pathlib import Path

import pytest

from flows import budget, disk, workspace
from flows.errors import RESOURCES, ResourceError, classify
from flows.params import Params, PruneConfig
from flows.project import Project

ROOT = Path(__file__).parents[1]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(root=tmp_path, state=tmp_path / "state")


def test_two_checkpoints_of_base_are_what_a_run_needs() -> None:
    needed = budget.needed_bytes(Params())
    assert 2 * 95e6 < needed < 2 * 96e6 + 32e6 + budget.SPARE_BYTES


def test_a_full_disk_refuses(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda project: 1_000_000)
    with pytest.raises(ResourceError, match=r"needs .* bytes\) .* has 977 KiB \(1,000,000 bytes\) free") as caught:
        budget.check(project, Params())
    assert classify(caught.value).code == RESOURCES


def test_a_spent_budget_refuses_and_leaves_nothing(project: Project) -> None:
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy2(ROOT / name, project.root / name)
    project.make_state()
    (project.state / "big").write_bytes(b"x" * 200_000_000)
    small = {"prune": {"disk_budget_gb": 0.3}}
    with pytest.raises(ResourceError, match=r"leaves 95\.4 MiB"):
        workspace.create(project, "20261130-120000-abcdef", small)
    assert not project.runs.exists()
    budget.check(project, Params(prune=PruneConfig(disk_budget_gb=0.6)))


def test_a_file_with_two_names_counts_once_and_links_do_not(project: Project, tmp_path: Path) -> None:
    folder = project.state / "runs" / "r" / "checkpoints"
    folder.mkdir(parents=True)
    (folder / "a").write_bytes(b"x" * 8192)
    (folder / "b").hardlink_to(folder / "a")
    (tmp_path / "outside").write_bytes(b"x" * 8192)
    (folder / "c").symlink_to(tmp_path / "outside")
    found = disk.disk(project, 1.0)
    link = (folder / "c").lstat().st_blocks * 512
    assert found.by_kind["checkpoints"] == found.used_bytes == 8192 + link
