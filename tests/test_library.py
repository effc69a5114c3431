"""Dataset versions: what is known of them, and that nothing leaves `data/` which could not come back."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from checkout import ROOT
from data_root import trade_on, write_root, write_trades

from dataset.versions import add, version
from flows import datasets, library, workspace
from flows.checks import cache
from flows.errors import ResourceError
from flows.library import LibraryEntry
from flows.needs import needs
from flows.project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project with a small dataset in `data/` that DVC does not know yet."""
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc" / "config").write_text("[core]\n    analytics = false\n")
    write_root(tmp_path / "data")
    monkeypatch.setenv("PIVOTLINE_PROJECT", str(tmp_path))
    monkeypatch.setenv("PIVOTLINE_STATE", str(tmp_path / "state"))
    yield Project(root=tmp_path, state=tmp_path / "state")
    assert not list(tmp_path.glob(".pivotline-data-*"))


def staged(project: Project, side: str = "short") -> Path:
    """Another dataset, beside the project."""
    folder = project.root / f"staged {side}"
    candles = write_root(folder / "data")
    write_trades(folder / "data", [trade_on(candles, 700, 760, side)])
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def entry(name: str) -> LibraryEntry:
    return next(found for found in library.library() if found.version == name)


def test_a_replaced_dataset_comes_back_byte_for_byte(project: Project) -> None:
    before, old = tree(project.root / "data"), version(project.root / "data")
    left = library.replace_data(project, staged(project))
    new = version(project.root / "data")
    assert left == old != new
    assert library.pointed(project) == new
    assert (entry(old).current, entry(old).restorable, entry(new).current) == (False, True, True)
    assert library.use(old) == new
    assert tree(project.root / "data") == before
    assert library.pointed(project) == old


def test_a_version_that_left_data_is_never_pruned(project: Project) -> None:
    old = library.replace_data(project, staged(project))
    needed = needs(project, set()).why
    assert old in needed
    (project.state / "datasets" / f"{old}.held").unlink()
    assert old not in needs(project, set()).why


def test_data_stays_when_the_new_dataset_cannot_be_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(project.root / "data")

    def full(folder: Path, cache: Path) -> str:
        raise OSError("no space left on device")

    monkeypatch.setattr(library, "add", full)
    with pytest.raises(OSError, match="no space"):
        library.replace_data(project, staged(project))
    assert tree(project.root / "data") == before
    assert not (project.root / "data.dvc").exists()


def test_data_that_is_mounted_is_refused_before_anything(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library.os.path, "ismount", lambda path: True)
    with pytest.raises(ResourceError, match="pivotline data use"):
        library.replace_data(project, staged(project))


def test_what_is_no_dataset_is_never_replaced(project: Project) -> None:
    shutil.rmtree(project.root / "data")
    (project.root / "data").mkdir()
    (project.root / "data" / "thesis.txt").write_text("kept")
    with pytest.raises(ValueError, match="holds other files"):
        library.replace_data(project, staged(project))
    assert (project.root / "data" / "thesis.txt").read_text() == "kept"


def test_a_damaged_cache_keeps_the_old_dataset_where_it_is(project: Project) -> None:
    old = version(project.root / "data")
    copy = project.root / "copy"
    shutil.copytree(project.root / "data", copy / "data")
    add(copy, project.cache)
    victim = next(path for path in (project.cache / "files" / "md5").rglob("*") if path.is_file())
    victim.chmod(0o644)
    victim.write_bytes(b"damaged")
    before = tree(project.root / "data")
    with suppress(OSError):
        library.replace_data(project, staged(project))
        library.use(old)
    assert tree(project.root / "data") == before


def test_versions_are_known_from_git_runs_and_the_cache(project: Project) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *words], cwd=project.root, check=True, capture_output=True)

    first = version(project.root / "data")
    library.replace_data(project, staged(project))
    second = version(project.root / "data")
    git("init", "--quiet")
    git("add", "data.dvc")
    git("commit", "-m", "second :red[x]\ttab")
    library.replace_data(project, staged(project, "long"))
    third = version(project.root / "data")
    run = project.runs / "20261130-120000-aaaaaa"
    run.mkdir(parents=True)
    gone = "0" * 32 + ".dir"
    (run / "data.dvc").write_text(f"outs:\n- md5: {gone}\n  path: data\n")
    found = {one.version: one for one in library.library()}
    assert next(iter(found)) == third
    assert set(found) == {first, second, third, gone}
    assert found[second].seen[0].startswith("commit ")
    assert found[gone].seen == (f"run {run.name}",)
    assert [found[name].restorable for name in (first, second, third, gone)] == [True, True, True, False]
    assert (found[first].trades, found[second].trades, found[third].name) == (2, 1, "walk")
    with pytest.raises(ValueError, match=gone):
        library.folder(gone)


def test_files_of_another_version_are_a_checked_copy(project: Project) -> None:
    before, old = tree(project.root / "data"), version(project.root / "data")
    library.replace_data(project, staged(project))
    copy = library.folder(old)
    assert tree(copy) == before
    assert library.folder(old) == copy
    assert library.folder(version(project.root / "data")) == project.root / "data"


@pytest.mark.parametrize("content", [b"", b"outs:\n- path: data\n", b"\xff\xfe\x00", None])
def test_a_run_whose_pointer_is_damaged_hides_no_version(project: Project, content: bytes | None) -> None:
    name = add(staged(project), project.cache)
    for run_id in ("20261130-120000-aaaaaa", "20261130-120001-bbbbbb"):
        project.workspace(run_id).mkdir(parents=True)
    shutil.copy2(project.root / "staged short" / "data.dvc", project.workspace("20261130-120000-aaaaaa"))
    damaged = project.workspace("20261130-120001-bbbbbb") / "data.dvc"
    if content is None:
        damaged.mkdir()
    else:
        damaged.write_bytes(content)
    assert entry(name).seen == ("run 20261130-120000-aaaaaa",)
    assert [view.version for view in datasets.datasets(project)] == [version(project.root / "data"), name]
    assert workspace.pointer_of(project, name[:9]).parent.name == "20261130-120000-aaaaaa"
    (finding,) = (found for found in cache.datasets(project) if found.level == "broken")
    assert "run 20261130-120001-bbbbbb cannot go on" in finding.text
