"""Checkpoints: their bytes and the time a save holds training up, beside `torch.save` of the same state.

`python -m bench.checkpoint` prints a table and writes `bench/checkpoint.json`. Both ways save in turns on the same
folder's disk; ours syncs to the disk and writes checksums, torch.save does neither.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from bench.claims import THREADS, Claim, finish
from bench.samples import scaled
from model.checkpoint import WEIGHTS, list_complete
from model.presets import base, fitted
from model.recipe import TrainConfig
from model.training import Training

SAVES = 10
OUT = Path(__file__).with_suffix(".json")


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def torch_save(training: Training, path: Path) -> float:
    """Seconds that the usual dictionary takes."""
    started = time.perf_counter()
    learner = training.learner
    torch.save({"model": learner.model.state_dict(), "optimizer": learner.optimizer.state_dict()}, path)
    return time.perf_counter() - started


def own_save(training: Training) -> float:
    started = time.perf_counter()
    training.save()
    return time.perf_counter() - started


def measure(folder: Path) -> dict[str, Any]:
    """One epoch of `base`, then saves of both kinds in turns; seconds and bytes."""
    samples = scaled()
    recipe = TrainConfig(epochs=SAVES + 1, threads=THREADS, keep_checkpoints=1)
    training = Training(recipe, fitted(base(), samples), samples, folder / "ours")
    started = time.perf_counter()
    for _ in training.epoch():
        pass
    epoch_s = time.perf_counter() - started
    ours, theirs = [], []
    for number in range(SAVES):
        training.progress.step += 1  # as if an update had passed: a checkpoint has a step of its own
        ours.append(own_save(training))
        theirs.append(torch_save(training, folder / f"torch-{number}.pt"))
    newest = list_complete(folder / "ours")[-1]
    raw = sum(value.numel() * value.element_size() for value in training.learner.model.state_dict().values())
    return {
        "epoch_s": epoch_s,
        "save_s": ours,
        "torch_save_s": theirs,
        "raw_bytes": raw,
        "weights_bytes": (newest.path / WEIGHTS).stat().st_size,
        "checkpoint_bytes": newest.size_bytes,
        "torch_save_bytes": (folder / "torch-0.pt").stat().st_size,
    }


def ten_older(folder: Path) -> int:
    """Bytes of ten checkpoints whose optimiser state was dropped, as older ones are kept."""
    from model.retention import drop_optimizer

    samples = scaled()
    recipe = TrainConfig(threads=THREADS, keep_checkpoints=SAVES)
    training = Training(recipe, fitted(base(), samples), samples, folder)
    for _ in range(SAVES):
        training.progress.step += 1
        drop_optimizer(training.save())
    return size_of(folder)


def main() -> None:
    torch.set_num_threads(THREADS)
    with tempfile.TemporaryDirectory() as name:
        found = measure(Path(name))
        found["ten_older_bytes"] = ten_older(Path(name) / "older")
    stall, theirs = statistics.median(found["save_s"]), statistics.median(found["torch_save_s"])
    raw = found["raw_bytes"]
    claims = [
        Claim(what="weights file over raw bytes", value=found["weights_bytes"] / raw, unit="x", goal="<= 1.02"),
        Claim(
            what="ten weights-only checkpoints over raw bytes",
            value=found["ten_older_bytes"] / raw,
            unit="x",
            goal="<= 10.2",
        ),
        Claim(what="stall of a save over an epoch", value=stall / found["epoch_s"], unit="", goal="<= 0.03"),
        Claim(
            what="seconds of a save over torch.save",
            value=stall / theirs,
            unit="x",
            goal="",
            note="ours syncs and hashes",
        ),
        Claim(
            what="bytes of the newest over torch.save",
            value=found["checkpoint_bytes"] / found["torch_save_bytes"],
            unit="x",
            goal="",
        ),
    ]
    print(f"save {1000 * stall:.0f} ms, torch.save {1000 * theirs:.0f} ms, epoch {found['epoch_s']:.1f} s")
    finish(OUT, claims, found)


if __name__ == "__main__":
    main()
