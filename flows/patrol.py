"""What a worker does beside running: it beats, carries out cancels, finds the dead and tries them again."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from flows import cancellation
from flows.errors import ResourceError, ServiceDownError
from flows.ledger import Ledger, LedgerError
from flows.process import Process
from flows.project import Project
from flows.reaper import close_ended, reap, record_of, records, tell_mlflow
from flows.reconciliation import reconcile
from flows.retries import retry_crashed
from flows.silence import Silence
from flows.witness import is_open

TICK_S, BEAT_S, ROUND_S = 2.0, 10.0, 30.0
Say = Callable[[str], None]


class Patrol:
    """A thread of the worker's process; the first round is made at once."""

    def __init__(self, project: Project, say: Say) -> None:
        self.project, self.say, self.ledger = project, say, Ledger(project)
        self.process, self.silence = Process.this(), Silence()
        self.said: str | None = None
        self._thread = threading.Thread(target=self._walk, name="patrol", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Says that no worker is here any more."""
        with suppress(LedgerError):
            self.ledger.worker_end(self.process)

    def round(self) -> None:
        """Looks for the dead, tries again what may be, and sets right what the servers believe."""
        self.silence.look(writable=self.beat())
        reap(self.project, self.say, self.silence)
        self.without_fail(lambda: close_ended(self.project))
        self.without_fail(lambda: retry_crashed(self.project, self.say))
        self.without_fail(self.proofs)
        self.without_fail(lambda: reconcile(self.project, self.say, self.silence))
        self.without_fail(self.tell_mlflow)

    def tell_mlflow(self) -> None:
        if any("mlflow" in attempt.untold for attempt in self.ledger.untold()):
            tell_mlflow(self.project, self.say)

    def beat(self) -> bool:
        """Whether the ledger took the heartbeat."""
        return self.without_fail(lambda: self.ledger.worker_beat(self.process))

    def cancels(self) -> None:
        """Carries out what was asked of runs of this machine, unless the asking process does."""
        for attempt in self.ledger.running():
            record = record_of(self.project, attempt.run_id) or {}
            if attempt.process.is_here() and record.get("state") == "running" and record.get("cancel_asked_at"):
                threading.Thread(target=cancellation.carry_out, args=(self.project, attempt.run_id)).start()

    def proofs(self) -> None:
        """Brings the proofs to their end that a process which was ended itself has left open."""
        for record in records(self.project, ("cancelled",)):
            if is_open(record):
                cancellation.carry_out(self.project, record["run_id"])

    def without_fail(self, work: Callable[[], None]) -> bool:
        """Does some work; an outage is said once, and the next round tries again."""
        try:
            work()
        except (OSError, ResourceError, ServiceDownError, ValueError) as error:
            if str(error) != self.said:
                self.said = str(error)
                self.say(f"patrol: {error}")
            return False
        return True

    def _walk(self) -> None:
        done: dict[float, float] = {}
        while True:
            for every_s, work in ((TICK_S, self.cancels), (BEAT_S, self.beat), (ROUND_S, self.round)):
                if time.monotonic() - done.get(every_s, -every_s) >= every_s:
                    done[every_s] = time.monotonic()
                    self.without_fail(work)  # type: ignore[arg-type]
            time.sleep(TICK_S / 2)
