"""Makers of a train stage that can be ended at will: a workspace with tiny samples, in which the real stage runs."""

import csv
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from makers import tiny_samples

from bench.forked import Stage
from dataset.samples import save_samples
from flows.params import Params, change, write_params
from model.content import sha256

SETTINGS = {
    "preprocess": {"seq_len": 20},
    "model": {"preset": "lite"},
    "train": {"epochs": 3, "device": "cpu", "threads": 1, "patience_epochs": 100, "checkpoint_every_updates": 2},
}
UPDATES = 9  # three epochs of 11 samples in batches of 5


def make(folder: Path, like: Path | None = None, **train: Any) -> Path:
    """A workspace for the train stage: 11 training and 6 validation samples, its memory planned as in `like`."""
    (folder / "artifacts").mkdir(parents=True)
    save_samples(folder / "artifacts" / "samples.npz", tiny_samples(11, 6, 3))
    save_samples(folder / "artifacts" / "episodes.npz", {"none": np.zeros(1)})
    (folder / "artifacts" / "scaler.json").write_text("{}")
    write_params(folder / "params.yaml", change(change(Params(), SETTINGS), {"train": train}))
    if like:
        (folder / "journal").mkdir()
        (folder / "journal" / "memory.json").write_bytes((like / "journal" / "memory.json").read_bytes())
    return folder


def start(folder: Path, **how: Any) -> Stage:
    return Stage(folder, "train", **how)


def run(folder: Path, **how: Any) -> tuple[int, str]:
    """The stage from start to end: its exit status and what it said."""
    stage = start(folder, **how)
    return stage.wait(), stage.said()


def wait_for_updates(folder: Path, stage: Stage, count: int) -> None:
    journal = folder / "journal" / "train.csv"
    while not journal.exists() or journal.read_text().count("\n") <= count:
        assert stage.code is None, stage.said()
        time.sleep(0.005)


def history(folder: Path) -> tuple[str, dict[str, list[dict[str, str]]], dict[str, Any]]:
    """What must be the same, bit by bit, however often a training was ended: weights, curves and what was counted."""
    rows = {}
    for split in ("train", "validation"):
        with (folder / "artifacts" / "curves" / f"{split}.csv").open() as file:
            rows[split] = [{**row, "elapsed_s": ""} for row in csv.DictReader(file)]
    report = json.loads((folder / "artifacts" / "train.json").read_text())
    counted = {name: report[name] for name in ("updates", "epochs_run", "best_epoch", "best_step", "ended")}
    return sha256(folder / "artifacts" / "model" / "weights.safetensors"), rows, counted
