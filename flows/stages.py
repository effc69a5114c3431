"""One DVC stage as a process group of its own, so that ending it ends everything it started."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flows import lockfile, owner
from flows.errors import INTERNAL, REPORT_VARIABLE, RESOURCES, StageError, StageKilledError, read_report
from flows.memory_kills import REMEDY, memory_kills
from flows.project import Project

RESUME_VARIABLE = "PIVOTLINE_RESUME"  # as flows.resumption reads it
STAGES = ("preprocess", "train", "evaluate")
GRACE_S = owner.GRACE_S  # between SIGTERM and SIGKILL of a stage's process group, whoever of both ends it
EXIT = re.compile(r"failed to run: .*exited with (-?\d+)\b")  # DVC's words on a stage; its own status is 255 then
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CACHED = re.compile(r"(is cached - skipping run|didn't change, skipping)")
NOISE = re.compile(
    r"^(Running stage|Stage '.*'|> python|Generating lock file|Updating lock file|Use `dvc push`"
    r"|Data and pipelines|ERROR: failed to reproduce '.*': failed to run: .*, exited with -?\d+\s*$|\s*$)"
)
SENTENCE = re.compile(r"error: ")  # of `stage_main`, in whose report it is: whoever runs the stage says it


@dataclass(frozen=True, kw_only=True, slots=True)
class StageResult:
    """What became of a stage: restored from the run cache or run, and how long it took."""

    cached: bool
    elapsed_s: float


def environment(project: Project) -> dict[str, str]:
    """The variables a stage runs under: this interpreter first, unbuffered, absolute state folder, no telemetry."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | {
        "PATH": path,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "DVC_NO_ANALYTICS": "1",
        "PIVOTLINE_STATE": str(project.state),
    }


def run_stage(
    project: Project,
    workspace: Path,
    stage: str,
    say: Callable[[str], None],
    *,
    resume: bool = False,
    fresh: bool = False,
    started: Callable[[int], None] = lambda pid: None,
) -> StageResult:
    """Reproduces one stage in `workspace` and hands each line it prints to `say`, its group's number to `started`.

    A `fresh` one is run again even where the run cache knows its result.

    Raises StageError with the stage's own sentence, StageKilledError when a signal ended it. Any other exception, a
    cancel included, ends the process group first.
    """
    began, kills = time.monotonic(), memory_kills()
    report = workspace / "logs" / f"{stage}.error.json"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    unlock(workspace)
    lockfile.mend(workspace, say)
    told = {REPORT_VARIABLE: str(report), owner.VARIABLE: owner.name(), RESUME_VARIABLE: "1" if resume else "0"}
    process = subprocess.Popen(
        [sys.executable, "-m", "dvc", "repro", "--single-item", *(["--force"] if fresh else []), stage],
        cwd=workspace,
        env=environment(project) | told,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        started(process.pid)
        cached, status = follow(process, workspace / "logs" / "run.log", say)
        code = process.wait()
    except BaseException:  # an error, a cancel or a signal: whatever ends the wait ends the stage
        end_group(process)
        raise
    if sign := ended_by(status) or ended_by(code):
        raise killed_error(stage, sign, memory_kills() - kills)
    if code:
        raise failure(stage, report, code)
    return StageResult(cached=cached, elapsed_s=time.monotonic() - began)


def unlock(workspace: Path) -> None:
    """Removes the lock that a killed DVC left: only the one process that holds the run gets here.

    DVC itself believes such a lock as long as its process number is in use, by whomever.
    """
    (workspace / ".dvc" / "tmp" / "rwlock").unlink(missing_ok=True)


def follow(process: subprocess.Popen[str], log: Path, say: Callable[[str], None]) -> tuple[bool, int]:
    """Copies a stage's lines to the run's log and to `say`.

    Returns whether DVC restored the stage from its run cache, and the status with which it says that the stage ended.
    """
    cached, status = False, 0
    assert process.stdout is not None
    with log.open("a", encoding="utf-8") as out, process.stdout as lines:
        for line in lines:
            out.write(line)
            out.flush()
            cached = cached or bool(CACHED.search(line))
            status = int(told[1]) if (told := EXIT.search(line)) else status
            if not (NOISE.match(line) or SENTENCE.match(line)) and log.exists():  # last words on a deleted folder
                say(line.rstrip("\n"))
    return cached, status


def ended_by(status: int) -> signal.Signals | None:
    """The signal from outside behind a status: as Python counts one that killed, or as shells and stages that saved."""
    number = -status if status < 0 else status - 128
    return next((sign for sign in FROM_OUTSIDE if sign == number), None)


def killed_error(stage: str, sign: signal.Signals, kills: int) -> StageKilledError:
    if sign != signal.SIGKILL:
        said = f"{stage} was told to end from outside ({sign.name}); resume goes on from its newest checkpoint"
        return StageKilledError(said, INTERNAL)
    if kills > 0:
        said = f"{stage} was killed: out of memory; {REMEDY}, or resume, which goes on from its newest checkpoint"
        return StageKilledError(said, RESOURCES)
    return StageKilledError(f"{stage} was killed from outside; resume goes on from its newest checkpoint", INTERNAL)


def failure(stage: str, report: Path, code: int) -> StageError:
    found = read_report(report)
    if found:
        return StageError(found.message, found.code)
    return StageError(f"{stage} ended with status {code}; its output is in logs/run.log of the run", INTERNAL)


def end_group(process: subprocess.Popen[str]) -> None:
    """Ends the stage and all its children: SIGTERM, then SIGKILL after a grace."""
    for sign, wait_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        if group_is_gone(process, wait_s):
            return


def group_is_gone(process: subprocess.Popen[str], wait_s: float) -> bool:
    """Waits until no process of the group is left; False when `wait_s` runs out first."""
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        process.poll()
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
