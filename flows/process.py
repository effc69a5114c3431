"""Which process is meant: its number can be used again, its start on this boot of this machine cannot."""

import os
import re
import socket
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import psutil

GONE = ("Z", "X", "x")  # states of a process that has ended and is only not yet collected
STATUS = Path("/proc/self/stat")


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """A process as it can be written down and found again, also by another process."""

    pid: int
    started: str  # see `start_of`
    host: str
    boot_id: str

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The running process with this number; None when there is none."""
        started = start_of(pid)
        return cls(pid=pid, started=started, host=socket.gethostname(), boot_id=boot_id()) if started else None

    @classmethod
    def this(cls) -> Self:
        found = cls.of(os.getpid())
        assert found is not None
        return found

    @classmethod
    def told(cls, values: Any) -> Self:
        """A process as `as_dict` wrote it down. Raises TypeError for what is none."""
        made = cls(**values)
        if type(made.pid) is not int or not all(isinstance(t, str) for t in (made.started, made.host, made.boot_id)):
            raise TypeError(f"{values} is no process")
        return made

    def is_here(self) -> bool:
        """Whether the process table that we see can tell of it: a container has its own, by whatever name it goes."""
        return self.host == socket.gethostname() and self.started.partition("@")[2] in ("", table())

    def lives(self) -> bool:
        """Whether it runs now; only to be asked where `is_here` holds."""
        return self.boot_id == boot_id() and same_start(start_of(self.pid), self.started)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def session(leader: Process) -> list[Process]:
    """The living processes of the session that `leader` began, also when it is gone itself."""
    now = start_of(leader.pid)
    if leader.boot_id != boot_id() or (now and not same_start(now, leader.started)):
        return []  # another process has its number now, so of its session nobody is left
    return [found for pid in psutil.pids() if session_id(pid) == leader.pid and (found := Process.of(pid))]


def descendants(process: Process) -> list[Process]:
    """The living processes that a process started, and those that they started."""
    if not process.lives():
        return []
    try:
        children = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [found for child in children if (found := Process.of(child.pid))]


def session_id(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def start_of(pid: int) -> str | None:
    """When the process started, in the kernel's own count, which setting the clock does not move, and in which table.

    None for a number that no process has, or one that has ended.
    """
    if STATUS.exists():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in GONE else f"{fields[19]}@{table()}"
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return None


def same_start(now: str | None, known: str) -> bool:
    """Whether a process that is seen now is one that was written down, also by a version that wrote no table."""
    return now is not None and known in (now, now.partition("@")[0])


@lru_cache(maxsize=1)
def table() -> str:
    """The process table that we see, the kernel's number of it: in another one the same number is another process.

    Empty where a machine has but one.
    """
    try:
        return re.sub(r"\D", "", str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        return ""


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Another one after each start of the machine."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else f"{psutil.boot_time():.0f}"
