"""A network with its optimiser, and the one careful way in which its weights move."""

import contextlib
import math
from typing import Any

import torch
from torch import Tensor, nn

from model.device import Device
from model.kinds import NetworkConfig
from model.networks import build, recompute
from model.optimizer import adamw, flat_state, load_flat_state, set_rate
from model.recipe import TrainConfig

FORMATS = {"bf16": torch.bfloat16, "fp16": torch.float16}
SMALLEST_SCALE = 2.0**-14


class DivergedError(ValueError):
    """The loss or its gradient stopped being a number; the weights are those of the last good update."""


class Stepper:
    """The network that is being trained, its optimiser and, for fp16, its loss scaler."""

    def __init__(self, config: TrainConfig, model_config: NetworkConfig, device: Device) -> None:
        self.config, self.device = config, device
        self.model = made(model_config, device)
        recompute(self.model, config.checkpointing)
        self.optimizer = adamw(self.model, config)
        self.scaler = torch.amp.GradScaler(device.kind, enabled=config.precision == "fp16")

    def begin(self, rate: float) -> None:
        """Before the forward pass of an update, which needs less memory without the gradients of the last one."""
        self.model.train()
        set_rate(self.optimizer, rate)
        self.optimizer.zero_grad(set_to_none=True)

    def descend(self, loss: Tensor, value: float, share: float) -> dict[str, float]:
        """Move the weights down the gradient of `share` times a loss; its norm, and whether fp16 skipped the step.

        `value` is the loss as a number. Raises DivergedError before the optimiser moves.
        """
        if not math.isfinite(value):
            raise DivergedError(f"the loss is {value}")
        self.scaler.scale(loss * share).backward()
        self.scaler.unscale_(self.optimizer)
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm))
        return {"grad_norm": norm if math.isfinite(norm) else 0.0, "skipped": float(self._step(norm))}

    def _step(self, norm: float) -> bool:
        """Move the weights; with fp16 a step whose gradient overflowed is skipped. True if it was skipped."""
        finite = math.isfinite(norm)
        if not finite and not self.scaler.is_enabled():
            raise DivergedError(f"the norm of the gradient is {norm}")
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if not finite and self.scaler.get_scale() < SMALLEST_SCALE:
            raise DivergedError("fp16 overflows at every scale of the loss")
        return not finite

    def precision(self) -> contextlib.AbstractContextManager[Any]:
        """The number format of the run, for a forward pass."""
        if self.config.precision == "fp32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.kind, FORMATS[self.config.precision])

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights by name, on the CPU."""
        return {name: value.detach().to("cpu", copy=True) for name, value in self.model.state_dict().items()}

    def optimizer_state(self) -> dict[str, Tensor]:
        """The optimiser's state by name."""
        return flat_state(self.model, self.optimizer)

    def restore(self, weights: dict[str, Tensor], optimizer: dict[str, Tensor], scaler: dict[str, Any]) -> None:
        """Go on from saved weights, optimiser state and scaler state."""
        self.model.load_state_dict(weights)
        load_flat_state(self.model, self.optimizer, optimizer)
        self.scaler.load_state_dict(scaler)


def made(model_config: NetworkConfig, device: Device) -> nn.Module:
    """A network with fresh weights on the device, made on the CPU first: the same weights on every device."""
    network = build(model_config)
    return network if device.kind == "cpu" else network.to(device.torch)
