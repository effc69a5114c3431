"""Makers of whole projects: a copy of this checkout with a data folder and a DVC cache of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from flows.params import Params, change, load_params, write_params
from flows.project import Project

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")
COPIED = ("dataset", "model", "flows", "app", ".streamlit", "dvc.yaml", "params.yaml", ".dvcignore", "data.dvc")
SMALL = {
    "preprocess": {"seq_len": 24},
    "model": {"preset": "lite"},
    "train": {"epochs": 1, "batch_size": 32, "patience_epochs": 1},
}


def copy_project(target: Path, changes: dict | None = None) -> Project:
    """A project at `target` whose settings make a run of seconds, with the sample dataset in `data/`."""
    target.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=LEFT_OUT)
        elif source.exists():
            shutil.copy2(source, target / name)
    (target / ".dvc").mkdir()
    shutil.copy2(ROOT / ".dvc" / "config", target / ".dvc" / "config")
    shutil.copytree(ROOT / ".dvc" / "sample", target / ".dvc" / "sample")
    write_params(target / "params.yaml", change(change(Params(), SMALL), changes or {}))
    (target / ".gitignore").write_text("/data\n/state\n/artifacts\n/checkpoints\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=target, check=True)
    subprocess.run([sys.executable, "-m", "dvc", "pull", "--quiet", "data"], cwd=target, check=True)
    return Project(root=target, state=target / "state")


def stage_params() -> dict[str, list[str]]:
    """The sections of params.yaml that each stage of dvc.yaml names."""
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    return {name: stage.get("params", []) for name, stage in stages.items()}


def shipped() -> Params:
    return load_params(ROOT / "params.yaml")
