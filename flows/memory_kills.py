"""How often the kernel has killed a process for want of memory: what tells that from a kill by hand."""

from pathlib import Path

COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/proc/vmstat"))  # of this container, of the whole machine


def memory_kills() -> int:
    """The kernel's count so far, of the container where it has one; only the difference of two counts means anything.

    0 where the kernel does not count.
    """
    for path in COUNTERS:
        if path.exists():
            for line in path.read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    return 0
