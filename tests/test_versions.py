"""Dataset versions: the same hash as DVC's, and files that come back byte for byte or not at all."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dataset.versions import restore, tracked_version, version

PROJECT = Path(__file__).parent.parent


def small_data(folder: Path) -> Path:
    data = folder / "data"
    (data / "candles" / "B_C").mkdir(parents=True)
    (data / "candles" / "B_C" / "1m.parquet").write_bytes(bytes(range(256)) * 5_000)
    (data / "candles.txt").write_bytes(b"sorted before or after the folder\r\n")
    (data / "annotations.csv").write_bytes("note\nüber\n".encode())
    return data


def dvc(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "dvc", *arguments, "--quiet"]
    subprocess.run(command, cwd=folder, check=True, env={"DVC_NO_ANALYTICS": "1", "HOME": str(folder), "PATH": ""})


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracked")
    small_data(folder)
    dvc(folder, "init", "--no-scm")
    dvc(folder, "add", "data")
    return folder


def test_version_equals_what_dvc_writes(tracked: Path) -> None:
    assert version(tracked / "data") == tracked_version(tracked / "data.dvc")


def test_version_changes_with_a_byte_and_with_a_name(tmp_path: Path) -> None:
    data = small_data(tmp_path)
    before = version(data)
    (data / "annotations.csv").write_bytes(b"note\nuber\n")
    edited = version(data)
    (data / "annotations.csv").rename(data / "annotations.txt")
    assert len({before, edited, version(data)}) == 3


def test_restore_brings_every_byte_back(tracked: Path, tmp_path: Path) -> None:
    name = version(tracked / "data")
    restore(name, tmp_path / "data", [tmp_path / "nothing here", tracked / ".dvc" / "cache"])
    assert version(tmp_path / "data") == name
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("damage", ["missing file", "changed file", "missing list", "changed list"])
def test_restore_refuses_a_damaged_cache_and_leaves_nothing(tracked: Path, tmp_path: Path, damage: str) -> None:
    name = version(tracked / "data")
    store = tmp_path / "cache"
    shutil.copytree(tracked / ".dvc" / "cache", store)
    objects = sorted((path for path in store.rglob("*") if path.is_file()), key=lambda path: path.suffix == ".dir")
    victim = objects[-1] if "list" in damage else objects[0]
    victim.chmod(0o644)
    if "missing" in damage:
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes() + b" ")
    with pytest.raises(ValueError, match=name):
        restore(name, tmp_path / "data", [store])
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.parametrize("name", ["", "../../etc.dir", "0" * 32, "0" * 32 + ".dir/.."])
def test_restore_refuses_a_name_that_is_no_version(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="32 hex digits"):
        restore(name, tmp_path / "data", [tmp_path])


def test_missing_folder_and_pointer_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"data is missing"):
        version(tmp_path / "data")
    with pytest.raises(ValueError, match=r"data\.dvc is missing"):
        tracked_version(tmp_path / "data.dvc")
    (tmp_path / "data.dvc").write_text("outs:\n- md5: 0123\n  path: data\n")
    with pytest.raises(ValueError, match=r"md5 is missing"):
        tracked_version(tmp_path / "data.dvc")


def test_sample_dataset_is_in_its_remote() -> None:
    """What is tracked has its objects committed beside it, so a clone can be used offline."""
    name = tracked_version(PROJECT / "data.dvc")
    assert (PROJECT / ".dvc" / "sample" / "files" / "md5" / name[:2] / name[2:]).is_file()
