"""Makers of projects whose stages are scripts of a moment, so that what is around them can be tried: they can be told
to wait, for a file `go` or for ever, to ignore every signal, or to take all memory, by the variable TRIAL (such as
`train:stubborn`)."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from checkout import copy_project

from flows import runfile, tracking
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
        if how == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            subprocess.Popen([sys.executable, "-c", STUBBORN])
        Path("arrived").touch()
        while not (how in ("gate", "hog") and Path("go").exists()):
            time.sleep(0.1)
        taken = []
        while how == "hog":
            taken.append(b"x" * 2**24)
    for path, content in {outputs}.items():
        (OUT / path).parent.mkdir(parents=True, exist_ok=True)
        (OUT / path).write_text(content if isinstance(content, str) else json.dumps(content))


if __name__ == "__main__":
    if "stubborn" in os.environ.get("TRIAL", ""):
        main()  # without the watch for its owner, which would end it
    else:
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
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        tracking.client(project)  # makes the database, which takes seconds
    return project


def environment(project: Project, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_", "PIVOT"))}
    told = {"PYTHONPATH": str(project.root), "PIVOTLINE_STATE": str(project.state), "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | told | {"PREFECT_API_URL": "http://127.0.0.1:9/api"} | more


class Command:
    """A `pivotline` command that runs, under the command `before`; what it says goes to a file."""

    def __init__(self, project: Project, *words: str, before: Sequence[str] = (), **more: str) -> None:
        with tempfile.NamedTemporaryFile(dir=project.root, prefix="said-", delete=False) as log:
            self.log = Path(log.name)
            self.process = subprocess.Popen(
                [*before, sys.executable, "-m", "flows.cli", *words],
                cwd=project.root,
                env=environment(project, **more),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def wait(self, wait_s: float = 120.0) -> int:
        return self.process.wait(wait_s)

    def runs(self) -> bool:
        return self.process.poll() is None


def pivotline(project: Project, *words: str, **more: str) -> tuple[int, str]:
    command = Command(project, *words, **more)
    return command.wait(), command.said()


def arrived(project: Project, command: Command) -> Path:
    """The workspace of a `pivotline run` once its stage waits where TRIAL tells it to."""
    begun = re.compile(r"^run (\S+) in ", re.MULTILINE)  # what it says of earlier runs may come before
    wait_for(lambda: begun.search(command.said()) or not command.runs())
    assert command.runs(), command.said()
    workspace = project.workspace(begun.findall(command.said())[0])
    wait_for(lambda: (workspace / "arrived").exists() or not command.runs())
    assert command.runs(), command.said()
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
        except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):  # one in a folder too deep to be named
            continue
    return found


def state_json(project: Project, run_id: str) -> dict[str, Any]:
    code, said = pivotline(project, "status", run_id, "--json")
    assert code == 0, said
    return dict(json.loads(said.strip().splitlines()[-1]))
