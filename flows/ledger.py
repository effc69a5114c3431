"""Who runs what now: one row an attempt of a run, one a worker, in `state/ledger.db`.

`run.json` says what a run is and what came of it, and counts for that; the ledger says which process runs it, since
when, and when that one was last heard of. A lost ledger loses no run: a new one is made.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from filelock import FileLock

from flows.process import Process
from flows.project import Project
from flows.runfile import now

BUSY_S = 10.0  # how long a writer waits for the others
TRIES = 5
SCHEMA = """
CREATE TABLE IF NOT EXISTS attempts (
    run_id TEXT, attempt INTEGER, stage TEXT, pid INTEGER, started TEXT, host TEXT, boot_id TEXT,
    group_pid INTEGER, group_started TEXT, began_at TEXT, beat_at REAL, ended_at TEXT, reason TEXT,
    untold TEXT DEFAULT '', PRIMARY KEY (run_id, attempt));
CREATE TABLE IF NOT EXISTS workers (
    pid INTEGER, started TEXT, host TEXT, boot_id TEXT, began_at TEXT, beat_at REAL, ended_at TEXT,
    PRIMARY KEY (host, pid, started));
"""


class LedgerError(OSError):
    """The ledger cannot be read or written; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One try of a run by one process; `beat_at` is in seconds of that machine's clock."""

    run_id: str
    attempt: int
    process: Process
    stage: str | None
    group: Process | None  # leader of the stage's process group
    beat_at: float
    ended_at: str | None
    reason: str | None
    untold: tuple[str, ...]  # services that have not learnt of its end


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """A process that serves the queue."""

    process: Process
    beat_at: float
    ended_at: str | None


class Ledger:
    """The ledger of a project. Every method raises LedgerError when the file cannot be used."""

    def __init__(self, project: Project) -> None:
        self.project, self.path = project, project.state / "ledger.db"

    def begin(self, run_id: str, attempt: int, process: Process) -> None:
        place = (run_id, attempt, process.pid, process.started, process.host, process.boot_id, now(), time.time())
        names = "run_id, attempt, pid, started, host, boot_id, began_at, beat_at"
        self._write(f"INSERT OR REPLACE INTO attempts ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", place)

    def beat(self, run_id: str, attempt: int, stage: str | None, group: Process | None) -> None:
        """Says that the attempt lives, what it does and in which process group."""
        leader = (group.pid, group.started) if group else (None, None)
        self._write(
            "UPDATE attempts SET beat_at = ?, stage = ?, group_pid = ?, group_started = ?"
            " WHERE run_id = ? AND attempt = ?",
            (time.time(), stage, *leader, run_id, attempt),
        )

    def end(self, run_id: str, attempt: int, reason: str, untold: Sequence[str] = ()) -> None:
        """Closes an attempt; services in `untold` are still to learn of its end."""
        self._write(
            "UPDATE attempts SET ended_at = ?, reason = ?, untold = ? WHERE run_id = ? AND attempt = ?",
            (now(), reason, ",".join(untold), run_id, attempt),
        )

    def told(self, run_id: str, attempt: int, service: str) -> None:
        """One of the `untold` services has learnt of the end."""
        self._write(
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
        self._write(
            f"INSERT INTO workers ({names}) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (host, pid, started) DO UPDATE SET beat_at = excluded.beat_at, ended_at = NULL",
            place,
        )

    def worker_end(self, process: Process) -> None:
        given = (now(), process.host, process.pid, process.started)
        self._write("UPDATE workers SET ended_at = ? WHERE host = ? AND pid = ? AND started = ?", given)

    def workers(self) -> list[Worker]:
        """The workers that have not said that they ended, the one heard of last first."""
        rows = self._read("SELECT * FROM workers WHERE ended_at IS NULL ORDER BY beat_at DESC")
        return [Worker(process=_process(row), beat_at=row["beat_at"], ended_at=row["ended_at"]) for row in rows]

    def _attempts(self, where: str, given: Sequence[Any] = ()) -> list[Attempt]:
        return [_attempt(row) for row in self._read(f"SELECT * FROM attempts {where}", given)]

    def _read(self, words: str, given: Sequence[Any] = ()) -> list[sqlite3.Row]:
        if not self.path.exists():
            return []
        with self._open() as ledger:
            return ledger.execute(words, given).fetchall()

    def _write(self, words: str, given: Sequence[Any]) -> None:
        self._make()
        for left in reversed(range(TRIES)):
            try:
                with self._open() as ledger, ledger:
                    ledger.execute(words, given)
                return
            except LedgerError as error:
                if not left or "locked" not in str(error):
                    raise

    def _make(self) -> None:
        """Makes the file once, however many open it first."""
        if self.path.exists() and self.path.stat().st_size:
            return
        self.project.make_state()
        with FileLock(self.project.locks / "ledger.lock"), self._open() as ledger:
            ledger.execute("PRAGMA journal_mode = WAL")
            ledger.executescript(SCHEMA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as ledger:
                ledger.row_factory = sqlite3.Row
                yield ledger
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path}: {error}") from None


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
