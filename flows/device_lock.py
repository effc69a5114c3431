"""One training at a time on this machine: the others wait, and say for whom."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

WAIT_S = 0.25


@contextmanager
def device_lock() -> Iterator[None]:
    """Holds the device; the kernel takes it back from a process that dies."""
    folder = Path(os.environ.get("PIVOTLINE_STATE") or "state") / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock, holder = FileLock(folder / "device.lock"), folder / "device.holder"
    if not taken(lock):
        print(f"waiting: {said(holder)} uses the device", flush=True)
        while not taken(lock):
            time.sleep(WAIT_S)
    holder.write_text(f"run {Path.cwd().name} (process {os.getpid()})", encoding="utf-8")
    try:
        yield
    finally:
        lock.release()


def taken(lock: FileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True


def said(holder: Path) -> str:
    return holder.read_text(encoding="utf-8") if holder.exists() else "another training"
