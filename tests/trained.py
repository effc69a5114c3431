"""Makers of finished runs: a workspace with a real tiny model, its reports and curves, as the stages leave them."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from makers import tiny_model, tiny_samples

from dataset import scaler
from flows import runfile
from flows.curves import CurveWriter
from flows.params import Params, as_dict
from flows.project import Project
from flows.workspace import copy_source
from model.networks import build
from model.predictions import INPUTS
from model.weights import save_model

ROOT = Path(__file__).parents[1]
DATASET = "0123456789abcdef0123456789abcdef.dir"
STAGES = ("preprocess", "train", "evaluate", "register", "prune")


def trained(project: Project, run_id: str, right: int = 6, simulated: bool = False, steps: int = 5) -> dict[str, Any]:
    """The record of a run that has trained and is not registered; of 8 test samples an action `right` are right."""
    workspace = project.workspace(run_id)
    artifacts = workspace / "artifacts"
    artifacts.mkdir(parents=True)
    for name in ("dataset", "model"):
        copy_source(ROOT / name, workspace / name)
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy2(ROOT / name, workspace / name)
    folder = save_model(artifacts / "model", build(tiny_model()), tiny_model())
    samples = tiny_samples(9, seed=int(run_id[-6:], 16))
    (folder / "scaler.json").write_text(scaler.fit(samples, np.arange(9)).to_json(), encoding="utf-8")
    np.savez(artifacts / "example.npz", **{name: samples[name][:1] for name in INPUTS})
    write_reports(artifacts, right, simulated)
    write_curves(workspace, steps)
    record = {
        "run_id": run_id,
        "state": "running",
        "created_at": runfile.now(),
        "started_ms": 1_700_000_000_000,
        "dataset_version": DATASET,
        "params": as_dict(Params()),
        "stages": {name: {"state": "waiting"} for name in STAGES},
    }
    runfile.write(workspace, record)
    return record


def write_reports(artifacts: Path, right: int, simulated: bool) -> None:
    wrong = 8 - right
    table = [[right, wrong, 0], [0, right, wrong], [wrong, 0, right]]
    score: dict[str, Any] = {"samples": 24, "balanced_accuracy": right / 8, "confusion": table, "baselines": {}}
    train = {"kind": "transformer", "preset": "lite", "parameters": 1234, "best_step": 2, "memory": {}}
    for name, values in (("evaluation", score), ("samples", {"simulated": simulated}), ("train", train)):
        (artifacts / f"{name}.json").write_text(json.dumps(values), encoding="utf-8")


def write_curves(workspace: Path, steps: int, slower: float = 1.0) -> None:
    curves = CurveWriter(workspace / "artifacts" / "curves")
    for step in range(1, steps + 1):
        curves.write({"split": "train", "step": step, "epoch": 1, "elapsed_s": 0.1 * slower * step, "loss": 1 / step})
    curves.write(
        {"split": "validation", "step": steps, "epoch": 1, "elapsed_s": 1.0, "loss": 0.5, "balanced_accuracy": None}
    )
    curves.close()
