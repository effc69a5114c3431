"""The process that runs a run keeps it: it alone holds the run's lock, and it says in the ledger that it lives.

A note beside the lock says the same at once; the ledger is written by a thread of its own, for which nobody waits.
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

from flows import cancellation, holder, runfile
from flows.errors import ResourceError
from flows.ledger import Attempt, Ledger
from flows.life import is_being_cancelled, run_lock
from flows.process import Process
from flows.project import Project

BEAT_S = 10.0
TICK_S = 1.0
BUSY_S = 0.2  # one try's wait for the ledger: its beats tell it later, and nothing that trains waits for it


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
    """Heartbeats of one attempt. A ledger that cannot be written is said once and tried again; the run goes on."""

    def __init__(
        self,
        project: Project,
        workspace: Path,
        attempt: int,
        say: Callable[[str], None],
        recorder: Any,
        flow_run_id: str | None = None,
    ) -> None:
        self.project, self.workspace, self.attempt = project, workspace, attempt
        self.ledger = Ledger(project, BUSY_S)
        self.say = say
        self.recorder = recorder
        self.untold = ("prefect",) if flow_run_id else ()  # its own word may not reach Prefect, or a crash may instead
        self.process = Process.this()
        self.stage: str | None = None
        self.group: Process | None = None
        self.reason = "its process ended without a word"
        self._begun = self._silent = False
        self._news, self._noting = True, threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._note()
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stop.set()
        self._thread.join()
        self._try(self._end)
        holder.forget(self.project, self.workspace.name)

    def enters(self, stage: str) -> None:
        """The run has come to this stage."""
        self.stage, self.group = stage, None
        self._changed()

    def started(self, pid: int) -> None:
        """The stage has a process group, led by this process."""
        self.group = Process.of(pid)
        self._changed()

    def _changed(self) -> None:
        """Noted at once; the ledger learns of it at the next tick."""
        self._note()
        self._news = True

    def _beat(self) -> None:
        known, last, carried = False, 0.0, -BEAT_S
        while True:
            if self._news or time.monotonic() - last >= BEAT_S:
                self._news, last = False, time.monotonic()
                self._note()
                self._try(self._tell)
            if self._stop.wait(TICK_S):
                return None
            if not self.workspace.is_dir():
                return self._end_stage()
            if time.monotonic() - carried >= BEAT_S and self._is_ended_from_elsewhere():
                carried = time.monotonic()
                cancellation.start(self.project, self.workspace.name)
            if self.recorder.mlflow_run_id and not known:
                with suppress(OSError, ResourceError, ValueError):  # a full disk: at the next tick
                    runfile.update(self.workspace, mlflow_run_id=self.recorder.mlflow_run_id)
                    known = True

    def _is_ended_from_elsewhere(self) -> bool:
        """Whether the end was asked for where nobody sees our processes, and nobody carries it out.

        A record that cannot be read is read again.
        """
        with suppress(OSError, ValueError):
            asked = (runfile.read(self.workspace) or {}).get("asked_elsewhere")
            return bool(asked) and not is_being_cancelled(self.project, self.workspace.name)
        return False

    def _end_stage(self) -> None:
        """The run's folder was deleted: what works there can save nothing any more."""
        if self.group:
            with suppress(ProcessLookupError):
                os.killpg(self.group.pid, signal.SIGKILL)

    def _note(self) -> None:
        """Notes who holds the run and what it does."""
        with self._noting:
            now = Attempt(
                run_id=self.workspace.name,
                attempt=self.attempt,
                process=self.process,
                stage=self.stage,
                group=self.group,
                beat_at=time.time(),
            )
            holder.note(self.project, now)

    def _tell(self) -> None:
        if not self._begun:
            self.ledger.begin(self.workspace.name, self.attempt, self.process)
            self._begun = True
        self.ledger.beat(self.workspace.name, self.attempt, self.stage, self.group)

    def _end(self) -> None:
        """Also in a ledger that was lost since the last beat."""
        self._tell()
        self.ledger.end(self.workspace.name, self.attempt, self.reason, self.untold)

    def _try(self, write: Callable[[], None]) -> None:
        if not (self.workspace.is_dir() or self.ledger.path.exists()):
            return  # both were deleted, and a new ledger would know of nothing
        try:
            write()
        except (OSError, ResourceError) as error:
            if not self._silent:
                self._silent = True
                self.say(f"the ledger cannot be written ({error}); the run goes on without its heartbeat")
