"""The process that runs a run keeps it: it alone holds the run's lock, and it says in the ledger that it lives.

It also has its own end carried out when somebody asks for it who cannot reach its processes, from another container.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from filelock import Timeout

from flows import cancellation, runfile
from flows.ledger import Ledger
from flows.life import run_lock
from flows.process import Process
from flows.project import Project

BEAT_S = 10.0
TICK_S = 1.0


@contextmanager
def holding(project: Project, run_id: str) -> Iterator[None]:
    """Makes the run this process's own. Raises ValueError when another one runs it."""
    project.make_state()
    lock = run_lock(project, run_id)
    try:
        lock.acquire(timeout=1.0)  # longer than the moment in which somebody looks whether it is held
    except Timeout:
        raise ValueError(f"run {run_id} is running already: another process holds it") from None
    try:
        yield
    finally:
        lock.release()


class Keeper:
    """Heartbeats of one attempt. A ledger that cannot be written is said once, and the run goes on."""

    def __init__(
        self,
        project: Project,
        workspace: Path,
        attempt: int,
        say: Callable[[str], None],
        recorder: Any,
        flow_run_id: str | None = None,
    ) -> None:
        self.project, self.ledger, self.workspace, self.attempt = project, Ledger(project), workspace, attempt
        self.say = say
        self.recorder = recorder
        self.untold = ("prefect",) if flow_run_id else ()  # its own word may not reach Prefect, or a crash may instead
        self.stage: str | None = None
        self.group: Process | None = None
        self.reason = "its process ended without a word"
        self._silent = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._try(lambda: self.ledger.begin(self.workspace.name, self.attempt, Process.this()))
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stop.set()
        self._thread.join()
        self._try(lambda: self.ledger.end(self.workspace.name, self.attempt, self.reason, self.untold))

    def enters(self, stage: str) -> None:
        """The run has come to this stage."""
        self.stage, self.group = stage, None
        self._say_so()

    def started(self, pid: int) -> None:
        """The stage has a process group, led by this process."""
        self.group = Process.of(pid)
        self._say_so()

    def _beat(self) -> None:
        last, known, ending = time.monotonic(), False, False
        while not self._stop.wait(TICK_S):
            if not self.workspace.is_dir():
                return self._end_stage()
            if not ending and (ending := self._is_ended_from_elsewhere()):
                cancellation.start(self.project, self.workspace.name)
            if self.recorder.mlflow_run_id and not known:
                known = True
                runfile.update(self.workspace, mlflow_run_id=self.recorder.mlflow_run_id)
            if time.monotonic() - last >= BEAT_S:
                last = time.monotonic()
                self._say_so()

    def _is_ended_from_elsewhere(self) -> bool:
        """Whether the end was asked for where nobody sees our processes; a record that cannot be read is read again."""
        with suppress(OSError, ValueError):
            return bool((runfile.read(self.workspace) or {}).get("asked_elsewhere"))
        return False

    def _end_stage(self) -> None:
        """The run's folder was deleted: what works there can save nothing any more."""
        if self.group:
            with suppress(ProcessLookupError):
                os.killpg(self.group.pid, signal.SIGKILL)

    def _say_so(self) -> None:
        self._try(lambda: self.ledger.beat(self.workspace.name, self.attempt, self.stage, self.group))

    def _try(self, write: Callable[[], None]) -> None:
        if not (self.workspace.is_dir() or self.ledger.path.exists()):
            return  # both were deleted, and a new ledger would know of nothing
        try:
            write()
        except OSError as error:
            if not self._silent:
                self._silent = True
                self.say(f"the ledger cannot be written ({error}); the run goes on without its heartbeat")
