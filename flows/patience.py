"""Waiting for MLflow only as long as it lives: a call that hangs is left to its thread, and the caller goes on."""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from flows.tracking import answers

EVERY_S = 0.5
MISSES = 2  # probes in a row without an answer, of up to ANSWER_S each: within 5 s a hanging server is given up

Result = TypeVar("Result")


def outlasted(uri: str, done: threading.Event, misses: int = MISSES, limit_s: float = float("inf")) -> bool:
    """Waits for `done` while the server answers and `limit_s` is not over; False when it was given up."""
    missed, deadline = 0, time.monotonic() + limit_s
    while not done.wait(EVERY_S):
        missed = 0 if answers(uri) else missed + 1
        if missed >= misses or time.monotonic() > deadline:
            return done.is_set()
    return True


def while_answering(uri: str, work: Callable[[], Result]) -> Result:
    """What `work` returns or raises. Raises ConnectionError when the server stops answering meanwhile.

    The work may still be carried out by its thread when the server comes back, so it has to bear being done again.
    """
    if not uri.startswith("http"):
        return work()
    outcome: SimpleQueue[tuple[Result | None, BaseException | None]] = SimpleQueue()
    done = threading.Event()

    def call() -> None:
        outcome.put(attempted(work))
        done.set()

    threading.Thread(target=call, name="mlflow-call", daemon=True).start()
    if not outlasted(uri, done):
        raise ConnectionError(f"MLflow stopped answering at {uri}")
    result, error = outcome.get()
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


def attempted(work: Callable[[], Result]) -> tuple[Result | None, BaseException | None]:
    try:
        return work(), None
    except BaseException as error:  # handed to the caller, who raises it
        return None, error
