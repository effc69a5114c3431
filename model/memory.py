"""How much memory a run took: measured, never estimated.

On CUDA the allocator's own peaks; on the CPU the bytes of all live tensors during the first updates, and the peak
resident memory of the process.
"""

import contextlib
import resource
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from model.device import Device
from model.learner import Learner

WATCHED_UPDATES = 2  # the first makes the optimiser's state, the second is like all the others


class TensorBytes(TorchDispatchMode):
    """Counts the bytes of live tensor storages while it is on; `peak` is the most there were at once."""

    def __init__(self, *present: Tensor) -> None:
        super().__init__()
        self.live, self.peak = 0, 0
        self._known: set[int] = set()
        for tensor in present:
            self._add(tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in tree_iter(result):
            if isinstance(value, Tensor):
                self._add(value)
        return result

    def _add(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._known:
            return
        self._known.add(key)
        self.live += storage.nbytes()
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self._drop, key, storage.nbytes())

    def _drop(self, key: int, nbytes: int) -> None:
        self._known.discard(key)
        self.live -= nbytes


class Meter:
    """Measures one run on its device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.watched = 0  # updates seen by `watching`
        self.tensor_peak_bytes: int | None = None
        if device.kind == "cuda":
            torch.cuda.reset_peak_memory_stats()

    @contextlib.contextmanager
    def watching(self, learner: Learner, samples: dict[str, Tensor]) -> Iterator[None]:
        """Counts the tensors of the first updates on a CPU; does nothing afterwards, since counting takes time."""
        if self.device.kind != "cpu" or self.watched >= WATCHED_UPDATES:
            yield
            return
        with TensorBytes(*present_tensors(learner, samples)) as tensors:
            yield
        self.watched += 1
        self.tensor_peak_bytes = max(tensors.peak, self.tensor_peak_bytes or 0)

    def measured(self) -> dict[str, Any]:
        """The peaks of this run in bytes; what was not measured is absent."""
        row: dict[str, Any] = {"kind": self.device.kind, "process_peak_bytes": process_peak_bytes()}
        if self.device.kind == "cuda":
            row["allocated_peak_bytes"] = torch.cuda.max_memory_allocated()
            row["reserved_peak_bytes"] = torch.cuda.max_memory_reserved()
        elif self.tensor_peak_bytes is not None:
            row["tensor_peak_bytes"] = self.tensor_peak_bytes
        return row


def present_tensors(learner: Learner, samples: dict[str, Tensor]) -> list[Tensor]:
    """What is in memory before an update: weights, gradients, optimiser state and samples."""
    weights = list(learner.model.parameters())
    gradients = [p.grad for p in weights if p.grad is not None]
    moments = [value for state in learner.optimizer.state.values() for value in state.values()]
    return [*weights, *gradients, *moments, *samples.values()]


def out_of_memory(error: RuntimeError) -> bool:
    """Whether PyTorch says that an allocation failed: an own error on a GPU, words on a CPU."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def process_peak_bytes() -> int:
    """The most resident memory this process ever had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, Linux KiB
