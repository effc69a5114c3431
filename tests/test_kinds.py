"""Every kind of network goes the whole way: preprocess, train, evaluate, register, and answers from the registry."""

import json
import os
import subprocess
import sys
from pathlib import Path

import mlflow
import numpy as np
import pytest
from checkout import copy_project

from flows import tracking
from flows.curves import read_curves
from flows.params import Params, change
from flows.project import Project

pytestmark = pytest.mark.slow
WAIT_S = 240


def run(project: Project) -> dict:
    kept = {name: v for name, v in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_", "PIVOTLINE"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = kept | {"PATH": path, "PIVOTLINE_STATE": str(project.state), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "flows.cli", "run", "--json"]
    done = subprocess.run(
        command, cwd=project.root, env=environment, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


@pytest.mark.parametrize(("kind", "training"), [("cnn", {}), ("dqn", {"epochs": 4, "learning_rate": 1e-3})])
def test_a_kind_goes_from_annotations_to_an_answer(
    tmp_path: Path, kind: str, training: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = copy_project(tmp_path / "project", {"model": {"kind": kind}, "train": training})
    found = run(project)
    assert (found["train"]["kind"], found["train"]["preset"]) == (kind, "lite")
    assert found["train"]["memory"]["measured_bytes"] > 16 * found["train"]["parameters"]
    assert abs(found["train"]["memory"]["error"]) <= 0.03
    assert found["evaluation"]["samples"] > 0
    earned = found["evaluation"].get("episodes", {}).get("train")
    assert (earned is not None) == (kind == "dqn")
    assert earned is None or earned["dqn"] > 0.3 > earned["hold"] > earned["random"]
    workspace = next(project.runs.glob("2*"))
    assert all(read_curves(workspace)[split] for split in ("train", "validation"))
    assert list((workspace / "checkpoints").glob("step-*"))
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
        monkeypatch.delenv(name, raising=False)
    tracking.client(project)
    model = mlflow.pyfunc.load_model(f"models:/{found['registered']['name']}/{found['registered']['version']}")
    with np.load(workspace / "artifacts" / "example.npz") as stored:
        answer = model.predict({name: stored[name] for name in stored.files})
    assert answer["action"][0] in ("hold", "buy", "sell")
    assert answer[["p_hold", "p_buy", "p_sell"]].sum(axis=1)[0] == pytest.approx(1.0)


def test_a_preset_that_a_kind_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="model: cnn has no preset 'legacy', expected one of base, wide, lite"):
        change(Params(), {"model": {"kind": "cnn", "preset": "legacy"}})
