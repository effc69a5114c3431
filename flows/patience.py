"""Waiting for MLflow only as long as it lives: a call that hangs is left to its thread, and the caller goes on."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from flows.tracking import answers

EVERY_S = 1.0
MISSES = 2  # probes in a row without an answer, of up to ANSWER_S each

Result = TypeVar("Result")


def while_answering(uri: str, work: Callable[[], Result]) -> Result:
    """What `work` returns or raises. Raises ConnectionError when the server stops answering meanwhile.

    The work may still be carried out by its thread when the server comes back, so it has to bear being done again.
    """
    if not uri.startswith("http"):
        return work()
    outcome: SimpleQueue[tuple[Result | None, BaseException | None]] = SimpleQueue()
    threading.Thread(target=lambda: outcome.put(attempted(work)), name="mlflow-call", daemon=True).start()
    missed = 0
    while missed < MISSES:
        try:
            result, error = outcome.get(timeout=EVERY_S)
        except Empty:
            missed = 0 if answers(uri) else missed + 1
            continue
        if error is not None:
            raise error
        return result  # type: ignore[return-value]
    raise ConnectionError(f"MLflow stopped answering at {uri}")


def attempted(work: Callable[[], Result]) -> tuple[Result | None, BaseException | None]:
    try:
        return work(), None
    except BaseException as error:  # handed to the caller, who raises it
        return None, error
