"""Progress of a stage as plain lines, which survive a pipe, a log file and a terminal alike."""

import time
from collections.abc import Callable

EVERY_S = 2.0


def counter(noun: str, say: Callable[[str], None] = print) -> Callable[[int, int], None]:
    """A callback `(done, total)` that says `noun` at most every two seconds, and at the end."""
    last = 0.0

    def tick(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done == total or now - last >= EVERY_S:
            last = now
            say(f"{noun} {done:,} of {total:,}")

    return tick


def duration(seconds: float) -> str:
    """12 s, 31 min, 1 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
