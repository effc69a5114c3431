"""The file `state/ledger.db`: made whole by whoever writes first, and anew by whoever finds it damaged.

Each reading and each writing opens it for itself, so that a file that was deleted or set aside is not written to.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from filelock import FileLock, Timeout

from flows import output
from flows.project import Project

BUSY_S = 10.0  # how long one try of a writer waits for the others
TRIES = 5
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
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


class DamagedLedgerError(LedgerError):
    """The file is no ledger any more."""


class LedgerFile:
    """Reads and writes rows. A writer tries `TRIES` times, and waits `busy_s` for the others each time."""

    def __init__(self, project: Project, busy_s: float) -> None:
        self.project, self.path, self.busy_s = project, project.state / "ledger.db", busy_s

    def read(self, words: str, given: Sequence[Any] = ()) -> list[sqlite3.Row]:
        if not self.path.exists():
            return []
        with self._open() as ledger:
            return ledger.execute(words, given).fetchall() if is_furnished(ledger) else []

    def write(self, words: str, given: Sequence[Any]) -> None:
        for left in reversed(range(TRIES)):
            try:
                return self._write_once(words, given)
            except DamagedLedgerError:
                if not left:
                    raise
                self._set_aside()
            except LedgerError as error:
                if not left or "locked" not in str(error):
                    raise

    def _write_once(self, words: str, given: Sequence[Any]) -> None:
        self.project.make_state()
        with self._open() as ledger:
            if not is_furnished(ledger):
                self._furnish(ledger)
            with ledger:
                ledger.execute(words, given)

    def _furnish(self, ledger: sqlite3.Connection) -> None:
        """Makes the tables, all or none, however many open the file first."""
        with self._alone():
            ledger.execute("PRAGMA journal_mode = WAL")
            ledger.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")

    def _set_aside(self) -> None:
        """Renames a damaged file, what belongs to it first, and says so; whoever comes second finds a whole one."""
        with self._alone():
            if self._is_whole():
                return
            kept = f"{self.path.name}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}"
            for end in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    self.path.with_name(self.path.name + end).rename(self.path.with_name(kept + end))
        output.quiet(f"the ledger was damaged: it is kept as {self.path.with_name(kept)}, and a new one is made")

    def _is_whole(self) -> bool:
        try:
            with self._open() as ledger:
                return bool(ledger.execute("PRAGMA quick_check").fetchone()[0] == "ok")
        except DamagedLedgerError:
            return False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            with FileLock(self.project.locks / "ledger.lock", timeout=TRIES * self.busy_s):
                yield
        except Timeout:
            raise LedgerError(f"{self.path}: another process makes it and does not come to an end") from None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=self.busy_s)) as ledger:
                ledger.row_factory = sqlite3.Row
                yield ledger
        except sqlite3.Error as error:
            damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED  # the low byte is the plain code
            raise (DamagedLedgerError if damaged else LedgerError)(f"{self.path}: {error}") from None


def is_furnished(ledger: sqlite3.Connection) -> bool:
    """Whether the tables are there: a kill may leave a file without them."""
    found = ledger.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('attempts', 'workers')")
    return bool(found.fetchone()[0] == 2)
