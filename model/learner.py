"""One network with its optimiser, and the mathematics of one update."""

import contextlib
import math
from typing import Any

import torch
from torch import Tensor, nn

from model.batches import take
from model.device import Device
from model.kinds import NetworkConfig
from model.losses import class_weights, label_units, mean_losses, sample_losses
from model.metrics import balanced_accuracy, confusion
from model.networks import build, notes, recompute, set_label_units
from model.optimizer import adamw, flat_state, load_flat_state, set_rate
from model.predictions import batch_outputs
from model.recipe import TrainConfig

FORMATS = {"bf16": torch.bfloat16, "fp16": torch.float16}
EVALUATION_BATCH = 32
SMALLEST_SCALE = 2.0**-14


class DivergedError(ValueError):
    """The loss or its gradient stopped being a number; the weights are those of the last good update."""


class Learner:
    """The network that is being trained, its optimiser and, for fp16, its loss scaler."""

    def __init__(
        self, config: TrainConfig, model_config: NetworkConfig, device: Device, train: dict[str, Tensor]
    ) -> None:
        self.config, self.device = config, device
        self.class_weights, self.warnings = class_weights(train["actions"])
        self.label_units = label_units(train)
        self.model = build(model_config).to(device.torch)
        recompute(self.model, config.checkpointing)
        set_label_units(self.model, self.label_units)
        self.warnings += notes(self.model, train)
        self.optimizer = adamw(self.model, config)
        self.scaler = torch.amp.GradScaler(device.kind, enabled=config.precision == "fp16")

    def update(self, batch: dict[str, Tensor], rate: float, share: float) -> dict[str, float]:
        """One step on a batch; losses, gradient norm and whether fp16 made it skip the step.

        `share` is the batch's samples over a full batch's, so that a remainder counts for what it is.
        Raises DivergedError before the optimiser moves.
        """
        self.model.train()
        set_rate(self.optimizer, rate)
        losses = self.losses(batch)
        row = dict(zip(losses, torch.stack(list(losses.values())).detach().tolist(), strict=True))
        if not math.isfinite(row["loss"]):
            raise DivergedError(f"the loss is {row['loss']}")
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(losses["loss"] * share).backward()
        self.scaler.unscale_(self.optimizer)
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm))
        return {**row, "grad_norm": norm if math.isfinite(norm) else 0.0, "skipped": float(self._step(norm))}

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

    def losses(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Mean losses of a batch, in the precision of the run."""
        with self._precision():
            outputs = self.model(batch)
        return mean_losses(self._per_sample(outputs, batch), self.config)

    def evaluate(self, fields: dict[str, Tensor]) -> dict[str, float | None]:
        """Losses and balanced accuracy over a whole split, without dropout, in fp32."""
        per_sample: list[dict[str, Tensor]] = []
        predicted: list[Tensor] = []
        rows = torch.arange(len(fields["actions"])).split(EVALUATION_BATCH)
        for outputs, part in zip(batch_outputs(self.model, fields, EVALUATION_BATCH), rows, strict=True):
            per_sample.append(self._per_sample(outputs, take(fields, part)))
            predicted.append(outputs["action_logits"].argmax(dim=1))
        joined = {name: torch.cat([row[name] for row in per_sample]) for name in per_sample[0]}
        table = confusion(fields["actions"].cpu().numpy(), torch.cat(predicted).cpu().numpy())
        means = {name: float(value) for name, value in mean_losses(joined, self.config).items()}
        return {**means, "balanced_accuracy": balanced_accuracy(table)}

    def _per_sample(self, outputs: dict[str, Tensor], batch: dict[str, Tensor]) -> dict[str, Tensor]:
        return sample_losses(outputs, batch, self.class_weights, self.label_units, self.config.label_smoothing)

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
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
