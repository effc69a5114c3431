"""Manifests that `save` never wrote: each is named, none is used, and the checkpoint before it is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from model.checkpoint import MANIFEST, OPTIMIZER, STATE, latest, list_complete, list_faults, save
from model.content import as_json, sha256
from model.resume import usable
from model.retention import drop_optimizer

DEEP = "[" * 200_000


def write(root: Path, step: int) -> Path:
    tensors = {"w": torch.full((4,), float(step))}
    return save(root, step, tensors, tensors, {"progress": {"step": step}})


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((path / MANIFEST).read_text())
    change(manifest)
    (path / MANIFEST).write_text(json.dumps(manifest))


def told(path: Path, state: dict[str, Any]) -> None:
    """Gives a checkpoint another state, with the hash that fits it."""
    (path / STATE).write_bytes(as_json(state))
    entry = {"bytes": (path / STATE).stat().st_size, "sha256": sha256(path / STATE)}
    changed(path, lambda manifest: manifest["files"].update({STATE: entry}))


def entry(name: str, value: object) -> Callable[[Path], None]:
    return lambda path: changed(path, lambda manifest: manifest["files"][STATE].update({name: value}))


def step(value: object) -> Callable[[Path], None]:
    return lambda path: changed(path, lambda manifest: manifest.update(step=value))


SPOILED: list[tuple[Callable[[Path], Any], str]] = [
    (entry("bytes", "abc"), "bytes"),
    (entry("bytes", None), "bytes"),
    (entry("bytes", -1), "bytes"),
    (entry("bytes", True), "bytes"),
    (entry("sha256", 7), "sha256"),
    (entry("sha256", "00"), "sha256"),
    (step(-5), "step is -5"),
    (step(True), "step is True"),
    (step(None), "step is None"),
    (step(10**26), "step is 1000"),
    (step(2**53 - 1), "step 2 in state.json, 9007199254740991 in manifest.json"),
    (step(1), "step 2 in state.json, 1 in manifest.json"),
    (lambda path: told(path, {}), "no step in state.json"),
    (lambda path: told(path, {"progress": []}), "no step in state.json"),
    (lambda path: (path / MANIFEST).write_text(DEEP), "nests too deep"),
]


@pytest.mark.parametrize(("spoil", "words"), SPOILED, ids=[words for _, words in SPOILED])
def test_what_save_never_wrote_is_named_and_the_one_before_it_used(
    tmp_path: Path, spoil: Callable[[Path], Any], words: str
) -> None:
    write(tmp_path, 1)
    path = write(tmp_path, 2)
    spoil(path)
    (fault,) = list_faults(tmp_path)
    assert words in fault
    assert str(path) in fault
    assert [found.step for found in list_complete(tmp_path)] == [1]
    assert latest(tmp_path) == list_complete(tmp_path)[0]


def test_a_checkpoint_from_before_the_state_had_a_step_of_its_own_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path, 2)
    told(path, {"progress": {"step": 2}})
    assert [found.step for found in list_complete(tmp_path)] == [2]


def test_a_write_never_goes_through_a_link(tmp_path: Path) -> None:
    path, victim, shared = write(tmp_path / "root", 1), tmp_path / "victim", tmp_path / "shared"
    for outside in (victim, shared):
        outside.write_text("precious")
    (path / f"{MANIFEST}.new").symlink_to(victim)
    drop_optimizer(path)
    second = write(tmp_path / "root", 2)
    (second / f"{MANIFEST}.new").hardlink_to(shared)
    drop_optimizer(second)
    assert (victim.read_text(), shared.read_text()) == ("precious", "precious")
    assert [found.step for found in list_complete(tmp_path / "root")] == [1, 2]
    assert not (path / OPTIMIZER).exists()


@pytest.mark.parametrize("origin", [None, [], {"model": 7, "train": []}, {}])
def test_a_state_of_no_run_is_nobody_s_to_go_on_from(tmp_path: Path, origin: object) -> None:
    wanted = {"model": {"d_model": 8}, "train": {"seed": 1}, "samples_sha256": "0"}
    for number, found in ((1, wanted), (2, origin)):
        told(write(tmp_path, number), {"step": number, "origin": found})
    assert [point.step for point in usable(tmp_path, wanted)] == [1]
