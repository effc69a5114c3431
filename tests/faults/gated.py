"""Makers of projects with the real stages and a tiny network, which wait at a point: in the warm-up, at an update, in a
save, while evaluating or registering.

`shut` names the point, and the file `go` in the workspace lets a run pass; where the state folder has a file `hog`, it
takes all memory then.
"""

import shutil
from pathlib import Path

import pytest
from checkout import copy_project

from flows import tracking
from flows.project import Project

SETTINGS = {
    "preprocess": {"seq_len": 12, "holds_per_trade": 1, "no_trades_per_trade": 0},
    "train": {"epochs": 2, "patience_epochs": 2, "checkpoint_every_updates": 2, "threads": 1},
}
GATE = '''
"""Where a trial waits."""
import os, time
from pathlib import Path


def gate(point, run_id=None):
    state = Path(os.environ["PIVOTLINE_STATE"])
    folder = state / "runs" / run_id if run_id else Path()
    if (state / "gate").exists() and (state / "gate").read_text() == point:
        Path(folder, "arrived").touch()
        while not Path(folder, "go").exists():
            time.sleep(0.02)
        taken = []
        while (state / "hog").exists():
            taken.append(b"x" * 2**24)
'''
# What is put before the last lines of a module: a function that waits before or after it does what it did.
WAITING = """
_plain_{name} = {name}
def {name}(*given, **named):
    from model.gate import gate
    {before}
    found = _plain_{name}(*given, **named)
    {after}
    return found


"""
TINY = """
def model_config(params):
    from dataclasses import replace
    from model.presets import base
    levels = tuple(range(1, params.preprocess.pivot_levels + 1))
    small = {"d_model": 16, "heads": 2, "layers": 2, "d_ff": 32, "pattern_hidden": (8,), "action_hidden": (8,)}
    return replace(base(), **small, head_hidden=(8,), pivot_levels=levels, seq_len=params.preprocess.seq_len)


"""
FIFTH = """

_plain_write = CurveWriter.write


def _write(self, row):
    from model.gate import gate
    _plain_write(self, row)
    row["split"] == "train" and row["step"] == 5 and gate("update-5")


CurveWriter.write = _write
"""
SAVING = "given[0].parent.name == '.saving-00000004' and given[0].name == 'manifest.json' and gate('save')"
GATES = (  # the module, the function that waits, where it does so before, and where after
    ("model/files.py", "write", SAVING, ""),
    ("flows/train.py", "run", "gate('warm-up')", ""),
    ("flows/evaluate.py", "predict", "gate('evaluate')", ""),
    ("flows/registry.py", "create_version", "", "gate('register', given[3]['pivotline.run_id'])"),
)


def make(folder: Path) -> Project:
    project = copy_project(folder / "project", SETTINGS)
    (project.root / "model" / "gate.py").write_text(GATE, encoding="utf-8")
    for module, name, before, after in GATES:
        insert(project.root / module, WAITING.format(name=name, before=before, after=after))
    insert(project.root / "flows" / "train.py", TINY)
    insert(project.root / "flows" / "curves.py", FIFTH)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        tracking.client(project)  # makes the database, which takes seconds
    return project


def insert(module: Path, lines: str) -> None:
    """Before the part that runs a module as a program, or at its end."""
    before, edge, after = module.read_text(encoding="utf-8").partition("if __name__ ==")
    module.write_text(before + lines + edge + after, encoding="utf-8")


def shut(project: Project, point: str) -> None:
    """Runs wait at this point, and do again what leads to it, whatever an earlier one has done already."""
    (project.state / "gate").write_text(point, encoding="utf-8")
    stages = ("flows.train", f"flows.{point}")
    for known in list((project.cache / "runs").rglob("*")):
        if known.is_file() and any(stage in known.read_text(encoding="utf-8") for stage in stages):
            shutil.rmtree(known.parent)


def open_all(project: Project) -> None:
    (project.state / "gate").unlink()
