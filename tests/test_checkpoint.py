"""Checkpoints: complete or not there, whatever happens while one is written."""

import contextlib
import errno
import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from torch import Tensor

from model import checkpoint, files
from model.checkpoint import MANIFEST, OPTIMIZER, STATE, complete, latest, list_complete, list_faults, load, save
from model.retention import keep
from model.weights import WEIGHTS, sha256

OPERATIONS = ("write", "make_folder", "sync_folder", "rename", "remove", "remove_folder")


class Crash(BaseException):
    """Stands for a kill: nothing of ours may catch it."""


def weights(value: float = 1.0) -> dict[str, Tensor]:
    return {"layer.weight": torch.full((3, 4), value)}


def write(root: Path, step: int, value: float = 1.0) -> Path:
    return save(root, step, weights(value), {"exp_avg.layer.weight": torch.ones(3, 4)}, {"epoch": step})


def steps(root: Path) -> list[int]:
    return [entry.step for entry in list_complete(root)]


class Failing:
    """Lets the first file operations through and fails at the next one, once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int, failure: BaseException) -> None:
        self.left, self.failure, self.failed = after, failure, False
        for name in OPERATIONS:
            monkeypatch.setattr(files, name, self.counted(getattr(files, name)))

    def counted(self, operation: object) -> object:
        def call(*arguments: object) -> object:
            if self.left == 0 and not self.failed:
                self.failed = True
                raise self.failure
            self.left -= 1
            return operation(*arguments)  # type: ignore[operator]

        return call


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path, 7)
    found, optimizer, state = load(path)
    assert torch.equal(found["layer.weight"], weights()["layer.weight"])
    assert optimizer is not None
    assert torch.equal(optimizer["exp_avg.layer.weight"], torch.ones(3, 4))
    assert state == {"epoch": 7, "step": 7}
    manifest = json.loads((path / MANIFEST).read_text())
    assert manifest["step"] == 7
    assert {name: sha256(path / name) for name in manifest["files"]} == {
        name: entry["sha256"] for name, entry in manifest["files"].items()
    }


@pytest.mark.parametrize(
    "failure", [Crash("killed"), OSError(errno.ENOSPC, "No space left on device")], ids=["kill", "full"]
)
@pytest.mark.parametrize("same_step", [False, True])
def test_a_failure_at_any_file_operation_harms_no_older_checkpoint(
    tmp_path: Path, failure: BaseException, same_step: bool
) -> None:
    for after in range(100):
        root = tmp_path / str(after)
        write(root, 1, 1.0)
        step = 1 if same_step else 2
        with pytest.MonkeyPatch.context() as patch:
            failing = Failing(patch, after, failure)
            with contextlib.suppress(Crash, OSError):
                write(root, step, 2.0)
        assert steps(root) in ([1], [step], [1, 2], [1, 1])
        assert list_faults(root) == []
        value = float(load(list_complete(root)[0].path)[0]["layer.weight"][0, 0])
        assert value == 1.0 or same_step
        write(root, 3)  # goes on with no cleaning by hand
        assert steps(root)[-1] == 3
        assert not list(root.glob(f"{checkpoint.HIDDEN}*"))
        if not failing.failed:
            return
    raise AssertionError("a save never got through")


def test_everything_is_flushed_before_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    real_fsync, real_rename = os.fsync, files.rename

    def fsync(handle: int) -> None:
        calls.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        real_fsync(handle)

    def rename(source: Path, target: Path) -> None:
        calls.append("rename")
        real_rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(files, "rename", rename)
    write(tmp_path / "root", 1)
    assert calls == [WEIGHTS, STATE, OPTIMIZER, MANIFEST, ".saving-00000001", "rename", "root"]


@pytest.mark.parametrize("name", [WEIGHTS, OPTIMIZER, STATE, MANIFEST])
@pytest.mark.parametrize("cut", [0, 1, 0.5, -1])
def test_a_truncated_file_is_found_and_named(tmp_path: Path, name: str, cut: float) -> None:
    write(tmp_path, 1)
    path = write(tmp_path, 2)
    content = (path / name).read_bytes()
    (path / name).write_bytes(content[: int(cut * len(content)) if cut == 0.5 else int(cut)])
    if name == MANIFEST and cut == -1:  # only the last newline is gone
        return
    assert steps(tmp_path) == [1]
    assert latest(tmp_path).step == 1  # type: ignore[union-attr]
    assert name in list_faults(tmp_path)[0]
    with pytest.raises(ValueError, match=name):
        load(path)


def test_one_flipped_bit_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, 1)
    content = bytearray((path / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (path / WEIGHTS).write_bytes(content)
    assert complete(path) is None
    assert list_faults(tmp_path) == [f"{path / WEIGHTS}: its SHA-256 differs from the manifest's"]


@pytest.mark.parametrize(
    "manifest",
    ["[]", "{}", '{"step": "1", "files": {}}', '{"step": 1, "files": {"../../secret": {"bytes": 1, "sha256": ""}}}'],
)
def test_a_manifest_that_save_never_wrote_is_refused(tmp_path: Path, manifest: str) -> None:
    path = write(tmp_path, 1)
    (path / MANIFEST).write_text(manifest)
    assert list_complete(tmp_path) == []
    assert len(list_faults(tmp_path)) == 1


@pytest.mark.parametrize("each_s", [-1.0, 0.0], ids=["the newest has the oldest time", "all have the same time"])
def test_order_is_the_step_never_the_name_or_the_time(tmp_path: Path, each_s: float) -> None:
    """Times of the future, as after a clock was set back, and a copied folder under another name."""
    for step in (1000, 100, 9, 990, 10, 900):
        write(tmp_path, step)
    (tmp_path / "step-00000009").rename(tmp_path / "step-99999999-copy")
    shutil.copytree(tmp_path / "step-00000010", tmp_path / "step-00005000")
    for path in tmp_path.iterdir():
        os.utime(path, (at := 4e9 + each_s * manifest_step(path), at))
    assert steps(tmp_path) == [9, 10, 10, 100, 900, 990, 1000]
    assert latest(tmp_path).step == 1000  # type: ignore[union-attr]
    keep(tmp_path, 3, None)
    assert steps(tmp_path) == [900, 990, 1000]


def manifest_step(path: Path) -> int:
    return int(json.loads((path / MANIFEST).read_text())["step"])


def test_links_are_no_checkpoints_and_their_targets_stay(tmp_path: Path) -> None:
    real, root = write(tmp_path / "elsewhere", 5), tmp_path / "root"
    path = write(root, 1)
    (root / "step-00000005").symlink_to(real)
    (root / "step-00000006").symlink_to(root / "nowhere")
    assert steps(root) == [1]
    (path / WEIGHTS).unlink()
    (path / WEIGHTS).symlink_to(real / WEIGHTS)
    assert steps(root) == []
    write(root, 5)  # takes the place of the link
    checkpoint.delete(path)
    assert complete(real) is not None
    assert steps(root) == [5]


@pytest.mark.parametrize(
    ("newest", "best", "left"),
    [(1, None, [5]), (1, 5, [5]), (1, 2, [2, 5]), (2, 4, [4, 5]), (3, 1, [1, 3, 4, 5]), (99, 1, [1, 2, 3, 4, 5])],
)
def test_best_and_newest_are_kept(tmp_path: Path, newest: int, best: int | None, left: list[int]) -> None:
    for step in range(1, 6):
        write(tmp_path, step)
    keep(tmp_path, newest, best)
    assert steps(tmp_path) == left
    assert [entry.step for entry in list_complete(tmp_path) if entry.resumable] == list(range(6 - min(newest, 5), 6))


@pytest.mark.parametrize("newest", [0, -1])
def test_keeping_none_is_refused(tmp_path: Path, newest: int) -> None:
    write(tmp_path, 1)
    with pytest.raises(ValueError, match=f"checkpoints to keep is {newest}, expected at least 1"):
        keep(tmp_path, newest, None)
    assert steps(tmp_path) == [1]


def test_a_kill_at_any_operation_of_keeping_harms_neither_best_nor_newest(tmp_path: Path) -> None:
    for after in range(100):
        root = tmp_path / str(after)
        for step in range(1, 5):
            write(root, step)
        with pytest.MonkeyPatch.context() as patch:
            failing = Failing(patch, after, Crash("killed"))
            with contextlib.suppress(Crash):
                keep(root, 1, 2)
        assert {2, 4} <= set(steps(root))
        keep(root, 1, 2)
        assert steps(root) == [2, 4]
        if not failing.failed:
            return
    raise AssertionError("keeping never got through")
