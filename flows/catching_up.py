"""What a worker does for MLflow: pending runs are brought level, in a process of their own.

MLflow puts the code of a version that it writes before all else on its process's search path, and leaves it there. The
processes of runs inherit the worker's path, and would look for our code in a folder that is gone.
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from flows.errors import SERVICE_DOWN
from flows.project import Project
from flows.sync import pending

EVERY_S, RARELY_S = 30.0, 120.0
Say = Callable[[str], None]
Look = tuple[int, str]  # the exit code of `pivotline sync` and what it said; nothing said: nothing was pending
NOTHING: Look = (0, "")


def follow(project: Project, say: Say) -> None:
    """Looks for pending runs for as long as this process lives, in a thread of its own."""

    def walk() -> None:
        stop, before = threading.Event(), NOTHING
        while True:
            now = before
            with suppress(OSError):
                now = catch_up(project, say, before)
            stop.wait(pause_s(before, now))
            before = now

    threading.Thread(target=walk, name="mlflow-sync", daemon=True).start()


def catch_up(project: Project, say: Say, before: Look = NOTHING) -> Look:
    """Brings pending runs level. What was said at the look before is not said again."""
    if not pending(project):
        return NOTHING
    command = [sys.executable, "-m", "flows.cli", "sync"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    now = done.returncode, done.stdout
    if now != before:
        for line in done.stdout.splitlines():
            say(line)
    return now


def pause_s(before: Look, now: Look) -> float:
    """Until the next look. What MLflow's being there does not help is tried less often."""
    return RARELY_S if now == before != NOTHING and now[0] != SERVICE_DOWN else EVERY_S
