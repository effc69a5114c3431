"""Makers of projects whose stages are scripts of a moment, so that what is around them can be tried: they can be told
to wait, or to ignore every signal, by the variable TRIAL (such as `train:stubborn`)."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from checkout import copy_project

from flows import runfile
from flows.project import Project

SCRIPT = '''
"""A stage of a trial."""
import json, os, signal, subprocess, sys, time
from pathlib import Path
from flows.errors import stage_main

OUT = Path("artifacts")
STUBBORN = "import signal, time; signal.signal(15, 1); signal.signal(2, 1); time.sleep(600)"


def main():
    name, _, how = os.environ.get("TRIAL", "").partition(":")
    if name == "{stage}":
        Path("arrived").touch()
        if how == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            subprocess.Popen([sys.executable, "-c", STUBBORN])
        time.sleep(600)
    for path, content in {outputs}.items():
        (OUT / path).parent.mkdir(parents=True, exist_ok=True)
        (OUT / path).write_text(content if isinstance(content, str) else json.dumps(content))


if __name__ == "__main__":
    stage_main(main)
'''
REGISTER = '''
"""The registration of a trial."""
import os, time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Registered:
    name: str = "pivotline"
    version: int = 1
    aliases: tuple = ()
    champion: str = "kept"


def register(project, tracking, mlflow_run_id, workspace, record):
    if os.environ.get("TRIAL", "").startswith("register"):
        Path(workspace, "arrived").touch()
        time.sleep(600)
    return Registered()
'''
OUTPUTS: dict[str, dict[str, Any]] = {
    "preprocess": {"samples.npz": "s", "episodes.npz": "e", "example.npz": "x", "scaler.json": "{}"}
    | {"samples.json": {"simulated": True}},
    "train": {"model/weights.safetensors": "w", "curves/train.csv": "step,epoch,elapsed_s,loss\n1,1,0.1,0.5\n"}
    | {"curves/validation.csv": "", "train.json": {"best_step": None}},
    "evaluate": {"predictions.csv": "a\n", "evaluation.json": {"balanced_accuracy": 0.5, "baselines": {}}},
}


def make(folder: Path) -> Project:
    project = copy_project(folder / "project")
    for stage, outputs in OUTPUTS.items():
        script = SCRIPT.replace("{stage}", stage).replace("{outputs}", repr(outputs))
        (project.root / "flows" / f"{stage}.py").write_text(script, encoding="utf-8")
    (project.root / "flows" / "registry.py").write_text(REGISTER, encoding="utf-8")
    return project


def environment(project: Project, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_", "PIVOT"))}
    told = {"PYTHONPATH": str(project.root), "PIVOTLINE_STATE": str(project.state), "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | told | {"PREFECT_API_URL": "http://127.0.0.1:9/api"} | more


def start(project: Project, *words: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *words],
        cwd=project.root,
        env=environment(project, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def pivotline(project: Project, *words: str, **more: str) -> tuple[int, str]:
    process = start(project, *words, **more)
    said, _ = process.communicate(timeout=120)
    return process.returncode, said


def arrived(project: Project, process: subprocess.Popen[str]) -> Path:
    """The workspace of a `pivotline run` once its stage waits where TRIAL tells it to."""
    assert process.stdout is not None
    workspace = project.workspace(process.stdout.readline().split()[1])
    wait_for(lambda: (workspace / "arrived").exists() or process.poll() is not None)
    assert process.poll() is None, process.stdout.read()
    return workspace


def record(workspace: Path) -> dict[str, Any]:
    found = runfile.read(workspace)
    assert found is not None
    return found


def wait_for(what: Any, wait_s: float = 90.0) -> None:
    """Waits until `what()` is true."""
    deadline = time.monotonic() + wait_s
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def living(workspace: Path) -> list[int]:
    """Numbers of the processes that are at work in a workspace."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(workspace) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def state_json(project: Project, run_id: str) -> dict[str, Any]:
    code, said = pivotline(project, "status", run_id, "--json")
    assert code == 0, said
    return dict(json.loads(said.strip().splitlines()[-1]))
