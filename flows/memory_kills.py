"""How often the kernel has killed a process for want of memory: what tells that from a kill by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CONTAINER, MACHINE = Path("/sys/fs/cgroup/memory.events"), Path("/proc/vmstat")
REMEDY = "lower train.batch_size or preprocess.seq_len"


def memory_kills(counters: Sequence[Path] = (CONTAINER, MACHINE)) -> int:
    """The kernel's count so far, of the container where it has one; only the difference of two counts means anything.

    0 where the kernel does not count.
    """
    for path in counters:
        if path.exists():
            for line in path.read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    return 0


def of_machine() -> int:
    """The count of the whole machine, which outlasts the container that was killed; it starts anew with the machine."""
    return memory_kills([MACHINE])


def suspicion(record: Mapping[str, Any]) -> str:
    """What to add to why a run died when the kernel has killed for want of memory since it began, else nothing."""
    return f", probably out of memory: {REMEDY}" if of_machine() > record.get("memory_kills", of_machine()) else ""
