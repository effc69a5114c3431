"""How much memory a run took: measured, never estimated.

On CUDA the allocator's own peaks; on the CPU the bytes of all live tensors during the first updates and the first
validation, and the peak resident memory of the process.
"""

import contextlib
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psutil
import torch
from torch import Tensor

from model.device import Device
from model.ledger import ledger_of
from model.stepper import Stepper

# How often each is watched: counting takes time. The first update makes the optimiser's state, the second is like all.
WATCHED = {"update": 2, "validation": 1}


class Meter:
    """Measures one run on its device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.watched: Counter[str] = Counter()
        self.measured_bytes: int | None = None
        if device.kind == "cuda":
            torch.cuda.reset_peak_memory_stats()

    @contextlib.contextmanager
    def watching(self, what: str, learner: Stepper, *samples: dict[str, Tensor]) -> Iterator[None]:
        """Counts the tensors of the first updates and the first validation, and nothing afterwards."""
        if self.device.kind == "mps" or self.watched[what] >= WATCHED[what]:
            yield
            return
        self.watched[what] += 1
        if self.device.kind == "cuda":
            yield
            self.measured_bytes = torch.cuda.max_memory_allocated()
            return
        with ledger_of(learner, *samples) as ledger:
            yield
        self.measured_bytes = max(ledger.peak_bytes, self.measured_bytes or 0)

    def measured(self) -> dict[str, Any]:
        """The peaks of this run in bytes; what was not measured is absent.

        `measured_bytes` is what `model.plan` predicts: the tensors of an update or a validation, whichever needs more.
        """
        row: dict[str, Any] = {"kind": self.device.kind, "process_peak_bytes": process_peak_bytes()}
        if self.measured_bytes is not None:
            row["measured_bytes"] = self.measured_bytes
        if self.device.kind == "cuda":
            row["allocated_peak_bytes"] = torch.cuda.max_memory_allocated()
            row["reserved_peak_bytes"] = torch.cuda.max_memory_reserved()
        return row


class Footprint:
    """What a training holds from one moment to the next, read in microseconds.

    On a card what the allocator has handed out and keeps; elsewhere what the process holds above what it held before
    there was a training.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.before = 0 if device.kind == "cuda" else process_bytes()
        self.most = 0

    def now(self) -> dict[str, int]:
        """Bytes held now and the most so far; on a card also what the allocator keeps for itself."""
        if self.device.kind == "cuda":
            return {
                "held_bytes": torch.cuda.memory_allocated(),
                "peak_bytes": torch.cuda.max_memory_allocated(),
                "reserved_bytes": torch.cuda.memory_reserved(),
            }
        held = max(0, process_bytes() - self.before)
        self.most = max(self.most, held, process_peak_bytes() - self.before)  # the system's own peak may lag behind
        return {"held_bytes": held, "peak_bytes": self.most}


def process_bytes() -> int:
    """The resident memory of this process now."""
    return int(psutil.Process().memory_info().rss)


def process_peak_bytes() -> int:
    """The most resident memory this process ever had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, Linux KiB
