"""The supervised learner: what one update on annotated samples is, and how a split is judged."""

import torch
from torch import Tensor

from model.batches import take
from model.device import Device
from model.kinds import NetworkConfig
from model.losses import class_weights, label_units, mean_losses, sample_losses
from model.metrics import balanced_accuracy, confusion
from model.networks import notes, set_label_units
from model.predictions import batch_outputs
from model.recipe import TrainConfig
from model.stepper import DivergedError, Stepper

__all__ = ["DivergedError", "Learner"]

EVALUATION_BATCH = 8  # so that judging an epoch takes no more memory than an update


class Learner(Stepper):
    """A network that learns the labels of annotated samples."""

    def __init__(
        self, config: TrainConfig, model_config: NetworkConfig, device: Device, train: dict[str, Tensor]
    ) -> None:
        super().__init__(config, model_config, device)
        self.class_weights, self.warnings = class_weights(train["actions"])
        self.warnings += notes(self.model, train)
        self.label_units = label_units(train)
        set_label_units(self.model, self.label_units)

    def update(self, batch: dict[str, Tensor], rate: float, share: float) -> dict[str, float]:
        """One step on a batch; losses, gradient norm and whether fp16 made it skip the step.

        `share` is the batch's samples over a full batch's, so that a remainder counts for what it is.
        Raises DivergedError before the optimiser moves.
        """
        self.begin(rate)
        losses = self.losses(batch)
        row = dict(zip(losses, torch.stack(list(losses.values())).detach().tolist(), strict=True))
        return {**row, **self.descend(losses["loss"], row["loss"], share)}

    def losses(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Mean losses of a batch, in the precision of the run."""
        with self.precision():
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
