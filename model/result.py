"""What a training run hands back."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from model.device import Device


@dataclass(frozen=True, kw_only=True, slots=True)
class FitResult:
    """The best weights of a run, and what happened on the way."""

    weights: dict[str, Tensor]  # on the CPU; of the best epoch, or the last ones if there was no validation
    best_epoch: int | None  # from 1; None without a validation split
    best_step: int | None
    epochs: int  # finished
    steps: int
    skipped: int  # updates that fp16 did not apply
    ended: str  # finished, early or asked
    history: list[dict[str, Any]]  # validation rows, one an epoch
    samples: dict[str, int]  # by split
    batch_size: int
    device: Device
    threads: int
    cpu_capability: str
    memory: dict[str, Any]  # measured, see model.memory
    warnings: list[str]
    elapsed_s: float
