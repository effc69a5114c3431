"""A stage belongs to the process that runs its run: when that one is gone, the stage does not go on alone.

A killed owner cannot end its stages, and DVC leaves its child behind when it is killed; so the child watches.
"""

import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from flows.process import Process, same_start, start_of

VARIABLE = "PIVOTLINE_OWNER"  # pid:start of the process that started the stage's process group
EVERY_S = 0.25
GRACE_S = 8.0  # for a training to finish its update and save
SIGNS = (signal.SIGTERM, signal.SIGKILL)
_gone = threading.Event()


def name() -> str:
    """What the stages of this process are told, as the value of `VARIABLE`."""
    this = Process.this()
    return f"{this.pid}:{this.started}"


def watch(grace_s: float = GRACE_S, signs: Sequence[int] = SIGNS) -> None:
    """Ends this process soon after its owner or its parent is gone: by each of `signs`, a grace apart.

    With an owner that it was told of, its whole process group ends.
    """
    told = (os.getppid(), owners(), grace_s, signs)
    threading.Thread(target=_follow, args=told, name="owner", daemon=True).start()


def is_gone() -> bool:
    """Whether this process is being ended because its owner is gone."""
    return _gone.is_set()


def owners() -> list[tuple[int, str]]:
    """The owner that this process was told of, and the leader of its group; none when a person runs the stage."""
    told = os.environ.get(VARIABLE)
    if not told:
        return []
    pid, _, started = told.partition(":")
    leader = os.getpgrp()
    return [(int(pid), started), (leader, start_of(leader) or "")]


def _follow(parent: int, watched: list[tuple[int, str]], grace_s: float, signs: Sequence[int]) -> None:
    while os.getppid() == parent and all(same_start(start_of(pid), started) for pid, started in watched):
        time.sleep(EVERY_S)
    _gone.set()
    for sign in signs:
        with suppress(ProcessLookupError):
            os.killpg(os.getpgrp(), sign) if watched else os.kill(os.getpid(), sign)
        time.sleep(grace_s)
