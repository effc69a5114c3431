"""How much memory a run took: measured, never estimated.

On CUDA the allocator's own peaks; on the CPU the bytes of all live tensors during the first updates, and the peak
resident memory of the process.
"""

import resource
import sys
import weakref
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from model.device import Device


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


def present_tensors(model: nn.Module, optimizer: torch.optim.Optimizer, fields: dict[str, Tensor]) -> list[Tensor]:
    """What is in memory before an update: weights, gradients, optimiser state and samples."""
    weights = list(model.parameters())
    gradients = [p.grad for p in weights if p.grad is not None]
    moments = [value for state in optimizer.state.values() for value in state.values() if isinstance(value, Tensor)]
    return [*weights, *gradients, *moments, *fields.values()]


def reset(device: Device) -> None:
    """Start measuring anew, where the device can."""
    if device.kind == "cuda":
        torch.cuda.reset_peak_memory_stats()


def measured(device: Device, tensor_bytes: int | None) -> dict[str, Any]:
    """The peak of this run in bytes; what this machine cannot tell is None."""
    row: dict[str, Any] = {"kind": device.kind, "process_peak_bytes": process_peak_bytes()}
    if device.kind == "cuda":
        row["allocated_peak_bytes"] = torch.cuda.max_memory_allocated()
        row["reserved_peak_bytes"] = torch.cuda.max_memory_reserved()
    else:
        row["tensor_peak_bytes"] = tensor_bytes
    return row


def process_peak_bytes() -> int:
    """The most resident memory this process ever had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, Linux KiB
