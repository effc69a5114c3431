"""Copies one run into MLflow while it trains, from a thread that can neither stop nor slow it.

MLflow being down or hanging costs the record, never the run: what it did not take, `pivotline sync` brings later.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows.patience import MISSES, outlasted
from flows.project import Project
from flows.runrecord import RunRecord, recording
from flows.tracking import OUTAGE, client, first_line, tracking_uri

EVERY_S = 2.0
FLUSH_S = 6.0  # the longest an ended run waits for a server that answers to take its last points
FILE_S = 60.0  # and for a file, which is made in seconds and cannot hang
LATE, BROKE_OFF = "it did not answer in time", "its thread broke off"


class Recorder:
    """`offline` holds why MLflow does not take the record now, None while it does; each change is said."""

    def __init__(self, project: Project, workspace: Path, record: dict[str, Any], say: Callable[[str], None]) -> None:
        self.project, self.workspace, self.record, self.say = project, workspace, record, say
        self.offline: str | None = "it has not answered yet"
        self.mlflow_run_id: str | None = None
        self.tracking: Any = None
        self._open: RunRecord | None = None
        self._end: tuple[str, dict[str, float], list[Path]] | None = None
        self._said = False
        self._asked, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name="mlflow-curves", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self, status: str, scores: dict[str, float], artifacts: list[Path]) -> None:
        """Ends the record as `status`; afterwards `offline` says whether that was taken.

        It waits for a server only while that one answers, and not twice for one that has not answered so far.
        """
        self._end = (status, scores, artifacts)
        self._asked.set()
        uri = tracking_uri(self.project)
        limit_s, misses = (FLUSH_S, 1 if self.offline else MISSES) if uri.startswith("http") else (FILE_S, MISSES)
        if not outlasted(uri, self._done, misses, limit_s):
            self._fail(LATE)

    def _follow(self) -> None:
        """Rounds until the run has ended, and one more. Should it break off, nobody waits for it, and sync is due."""
        closed = False
        try:
            self._round(self._copy)
            while not self._asked.wait(EVERY_S):
                self._round(self._copy)
            self._round(self._close)
            closed = True
        finally:
            self.offline = self.offline if closed else BROKE_OFF
            self._done.set()

    def _round(self, work: Callable[[], None]) -> None:
        if not self.workspace.is_dir():
            return  # deleted under us: there is nothing to send, and our locks would make the state folder anew
        try:
            work()
        except OUTAGE as error:
            self._fail(first_line(error))
        else:
            self._recover()

    def _copy(self) -> None:
        with recording(self.project, self.workspace.name):
            self._opened().send_curves()

    def _close(self) -> None:
        assert self._end is not None
        with recording(self.project, self.workspace.name):
            self._opened().close(*self._end)

    def _opened(self) -> RunRecord:
        if self._open is None:
            self.tracking = client(self.project)
            record = RunRecord(self.tracking, self.workspace, self.record)
            record.running()
            self._open, self.mlflow_run_id = record, record.mlflow_run_id
        return self._open

    def _fail(self, reason: str) -> None:
        self.offline, self._open = reason, None  # the next round asks MLflow anew what it has
        if not self._said:
            self._said = True
            self.say(
                f"MLflow does not take the record ({reason}): training goes on, curves are kept in {self.workspace}, "
                "`pivotline sync` brings them later"
            )

    def _recover(self) -> None:
        if self._said:
            self.say("MLflow takes the record again")
        self.offline, self._said = None, False
