"""Who runs what now: one row an attempt of a run, one a worker, in `state/ledger.db`.

`run.json` says what a run is and what came of it, and counts for that; the ledger says which process runs it, since
when, and when that one was last heard of. A lost ledger loses no run: a new one is made.
"""

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flows.ledgerfile import BUSY_S, LedgerError, LedgerFile
from flows.process import Process
from flows.project import Project
from flows.runfile import now

__all__ = ["Attempt", "Ledger", "LedgerError", "Worker"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One try of a run by one process; `beat_at` is in seconds of that machine's clock."""

    run_id: str
    attempt: int
    process: Process
    stage: str | None
    group: Process | None  # leader of the stage's process group
    beat_at: float
    ended_at: str | None = None
    reason: str | None = None
    untold: tuple[str, ...] = ()  # services that have not learnt of its end


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """A process that serves the queue."""

    process: Process
    beat_at: float
    ended_at: str | None


class Ledger:
    """The ledger of a project. Every method raises LedgerError when the file cannot be used.

    A writer sets a damaged one aside and makes a new one. One try of it waits `busy_s` for the others.
    """

    def __init__(self, project: Project, busy_s: float = BUSY_S) -> None:
        self.file = LedgerFile(project, busy_s)
        self.path = self.file.path

    def begin(self, run_id: str, attempt: int, process: Process) -> None:
        place = (run_id, attempt, process.pid, process.started, process.host, process.boot_id, now(), time.time())
        names = "run_id, attempt, pid, started, host, boot_id, began_at, beat_at"
        self.file.write(f"INSERT OR REPLACE INTO attempts ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", place)

    def beat(self, run_id: str, attempt: int, stage: str | None, group: Process | None) -> None:
        """Says that the attempt, this process's own, lives, what it does and in which process group.

        A ledger that was lost meanwhile learns of it anew.
        """
        this, leader = Process.this(), (group.pid, group.started) if group else (None, None)
        names = "run_id, attempt, pid, started, host, boot_id, began_at, beat_at, stage, group_pid, group_started"
        changed = ", ".join(f"{name} = excluded.{name}" for name in ("beat_at", "stage", "group_pid", "group_started"))
        place = (run_id, attempt, this.pid, this.started, this.host, this.boot_id, now(), time.time(), stage, *leader)
        self.file.write(
            f"INSERT INTO attempts ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            f" ON CONFLICT (run_id, attempt) DO UPDATE SET {changed}",
            place,
        )

    def end(self, run_id: str, attempt: int, reason: str, untold: Sequence[str] = ()) -> None:
        """Closes an attempt; services in `untold` are still to learn of its end."""
        self.file.write(
            "UPDATE attempts SET ended_at = ?, reason = ?, untold = ? WHERE run_id = ? AND attempt = ?",
            (now(), reason, ",".join(untold), run_id, attempt),
        )

    def told(self, run_id: str, attempt: int, service: str) -> None:
        """One of the `untold` services has learnt of the end."""
        self.file.write(
            "UPDATE attempts SET untold = trim(replace(',' || untold || ',', ',' || ? || ',', ','), ',')"
            " WHERE run_id = ? AND attempt = ?",
            (service, run_id, attempt),
        )

    def running(self) -> list[Attempt]:
        """The attempts that have not ended, or whose process never came to say so."""
        return self._attempts("WHERE ended_at IS NULL ORDER BY run_id, attempt")

    def untold(self) -> list[Attempt]:
        """The ended attempts of which a service has not learnt."""
        return self._attempts("WHERE untold != '' ORDER BY run_id, attempt")

    def newest(self, run_id: str) -> Attempt | None:
        """The latest attempt of a run; None when no process has begun it."""
        found = self._attempts("WHERE run_id = ? ORDER BY attempt DESC LIMIT 1", (run_id,))
        return found[0] if found else None

    def worker_beat(self, process: Process) -> None:
        place = (process.pid, process.started, process.host, process.boot_id, now(), time.time())
        names = "pid, started, host, boot_id, began_at, beat_at"
        self.file.write(
            f"INSERT INTO workers ({names}) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (host, pid, started) DO UPDATE SET beat_at = excluded.beat_at, ended_at = NULL",
            place,
        )

    def worker_end(self, process: Process) -> None:
        given = (now(), process.host, process.pid, process.started)
        self.file.write("UPDATE workers SET ended_at = ? WHERE host = ? AND pid = ? AND started = ?", given)

    def workers(self) -> list[Worker]:
        """The workers that have not said that they ended, the one heard of last first."""
        rows = self.file.read("SELECT * FROM workers WHERE ended_at IS NULL ORDER BY beat_at DESC")
        return [Worker(process=_process(row), beat_at=row["beat_at"], ended_at=row["ended_at"]) for row in rows]

    def _attempts(self, where: str, given: Sequence[Any] = ()) -> list[Attempt]:
        return [_attempt(row) for row in self.file.read(f"SELECT * FROM attempts {where}", given)]


def _process(row: sqlite3.Row, pid: str = "pid", started: str = "started") -> Process:
    return Process(pid=row[pid], started=row[started], host=row["host"], boot_id=row["boot_id"])


def _attempt(row: sqlite3.Row) -> Attempt:
    return Attempt(
        run_id=row["run_id"],
        attempt=row["attempt"],
        process=_process(row),
        stage=row["stage"],
        group=_process(row, "group_pid", "group_started") if row["group_pid"] else None,
        beat_at=row["beat_at"],
        ended_at=row["ended_at"],
        reason=row["reason"],
        untold=tuple(name for name in row["untold"].split(",") if name),
    )
