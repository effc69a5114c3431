"""Stages in processes forked from one that has only imported them: killing one and starting the next costs no start.

They are the real stages, without DVC around them; what DVC does to their outputs is done here. The network is a tiny
transformer, smaller than any preset.
"""

import importlib
import multiprocessing
import os
import shutil
import signal
import sys
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["torch._dynamo", "flows.preprocess", "flows.train", "flows.evaluate", "bench.registering"]
)
CALLS = ("write", "make_folder", "sync_folder", "rename", "remove", "remove_folder")
OUTPUTS = {
    "preprocess": ["samples.npz", "episodes.npz", "example.npz", "scaler.json", "samples.json"],
    "train": ["model", "train.json", "curves"],
    "evaluate": ["evaluation.json", "predictions.csv"],
}


class Stage:
    """A stage that runs in `folder`; `fault` as `inject` reads it, what it says goes to `logs/NAME.txt`.

    The state folder is `state` beside the folder unless it is named.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        resume: bool = False,
        fault: str = "",
        owner: str = "",
        state: Path | None = None,
    ) -> None:
        self.log = folder / "logs" / f"{name}.txt"
        self.log.parent.mkdir(exist_ok=True)
        self.log.unlink(missing_ok=True)
        remove_outputs(folder, name)
        told = {"PIVOTLINE_STATE": str(state or folder.parent / "state"), "PIVOTLINE_RESUME": str(int(resume))}
        told |= {"PIVOTLINE_OWNER": owner}
        self.process: BaseProcess = CONTEXT.Process(target=run, args=(str(folder), name, told, fault))
        self.process.start()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    @property
    def code(self) -> int | None:
        """Its exit status, the negative number of the signal that ended it, None while it runs."""
        return self.process.exitcode

    def wait(self, timeout_s: float = 120.0) -> int:
        self.process.join(timeout_s)
        assert self.code is not None, f"{self.log.name} still runs after {timeout_s} s: {self.said()}"
        return self.code

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""


def remove_outputs(folder: Path, name: str) -> None:
    """As DVC does before it runs a stage."""
    for output in OUTPUTS.get(name, []):
        path = folder / "artifacts" / output
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def run(folder: str, name: str, told: dict[str, str], fault: str) -> None:
    """The body of the forked process."""
    os.setsid()
    os.chdir(folder)
    os.environ.update(told)
    log = os.open(f"logs/{name}.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for number, stream in ((1, "stdout"), (2, "stderr")):
        os.dup2(log, number)
        setattr(sys, stream, os.fdopen(number, "w", buffering=1, encoding="utf-8", closefd=False))
    stage = importlib.import_module(f"{'flows' if name in OUTPUTS else 'bench'}.{name}")
    if name == "train":
        stage.model_config = tiny  # type: ignore[attr-defined]
    inject(fault)
    from flows.errors import stage_main

    stage_main(stage.main)


def tiny(params: Any) -> Any:
    """A network of some thousand parameters in place of the preset's."""
    from model.presets import base

    levels = tuple(range(1, params.preprocess.pivot_levels + 1))
    small = {"d_model": 16, "heads": 2, "layers": 2, "d_ff": 32, "pattern_hidden": (8,), "action_hidden": (8,)}
    more = {"head_hidden": (8,), "pivot_levels": levels, "seq_len": params.preprocess.seq_len}
    return replace(base(), **{**small, **more})


def inject(fault: str) -> None:
    """`kill:N` and `term:N`: a signal at the N-th file call of model.files; `nan:N`: the N-th loss is no number."""
    kind, _, number = fault.partition(":")
    if kind == "nan":
        nan_at(int(number))
    elif kind:
        signal_at(int(number), {"kill": signal.SIGKILL, "term": signal.SIGTERM}[kind])


def signal_at(number: int, sign: int) -> None:
    from model import files

    seen = 0

    def counted(operation: Any) -> Any:
        def call(*given: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == number:
                os.kill(os.getpid(), sign)
            return operation(*given)

        return call

    for name in CALLS:
        setattr(files, name, counted(getattr(files, name)))


def nan_at(number: int) -> None:
    from model.learner import Learner

    plain, seen = Learner.losses, 0

    def losses(self: Any, batch: Any) -> Any:
        nonlocal seen
        seen += int(self.model.training)
        factor = float("nan") if seen == number else 1.0
        return {name: value * factor for name, value in plain(self, batch).items()}

    Learner.losses = losses  # type: ignore[method-assign]
