"""What the network is taught: one loss a head, each a mean over the samples of a batch.

Every loss is first worked out for each sample, so that batches of any size add up to the loss of the whole split.
B batch, T streams, L pivot levels.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, huber_loss

from model.recipe import TrainConfig

ACTIONS = ("hold", "buy", "sell")
SMALLEST_UNIT = 1e-8


def class_weights(actions: Tensor) -> tuple[Tensor, list[str]]:
    """Weights that let every action count alike, and a sentence for each action without a sample (weight 0); (3,)."""
    counts = torch.bincount(actions, minlength=len(ACTIONS)).float()
    present = counts > 0
    weights = torch.where(present, len(actions) / (present.sum() * counts.clamp(min=1)), 0.0)
    missing = [name for name, found in zip(ACTIONS, present.tolist(), strict=True) if not found]
    return weights, [f"no training sample has the action {name}: the model cannot learn it" for name in missing]


def label_units(fields: dict[str, Tensor]) -> dict[str, Tensor]:
    """The usual size (root mean square) of the price label (1,) and of each pivot label (L,2) in the training split."""
    labels = {"price": fields["future_prices"][:, None], "pivots": fields["pivots"]}
    return {name: _usual_size(values) for name, values in labels.items()}


def _usual_size(values: Tensor) -> Tensor:
    """Root mean square over the first axis of what is there; 1 where nothing is, or where all is zero."""
    size = values.square().nanmean(dim=0).sqrt().nan_to_num()
    return size.where(size > SMALLEST_UNIT, 1.0)


def sample_losses(
    outputs: dict[str, Tensor], batch: dict[str, Tensor], weights: Tensor, units: dict[str, Tensor], smoothing: float
) -> dict[str, Tensor]:
    """The loss of each head that the network has, for each sample, (B,) each.

    A label that is NaN is absent and costs nothing.
    """
    logits, actions = outputs["action_logits"].float(), batch["actions"]
    price, pivots = batch["future_prices"][:, None], batch["pivots"]
    right = (logits.argmax(dim=1) == actions).float().detach()
    action = cross_entropy(logits, actions, reduction="none", label_smoothing=smoothing) * weights[actions]
    losses = {"action": action}
    if "confidence" in outputs:
        said = outputs["confidence"][:, 0].float()
        losses["confidence"] = binary_cross_entropy_with_logits(said, right, reduction="none")
    if "price" in outputs:
        losses["price"] = _present(huber_loss, outputs["price"] / units["price"], price / units["price"])
    if "next_candles" in outputs:
        losses["candle"] = _present(huber_loss, outputs["next_candles"], batch["next_candles"])
    if "pivots" in outputs:
        losses["pivot"] = _present(huber_loss, outputs["pivots"] / units["pivots"], pivots / units["pivots"])
    if "trade_success" in outputs:
        said = outputs["trade_success"]
        losses["success"] = _present(binary_cross_entropy_with_logits, said, batch["trade_success"])
    return losses


def _present(loss: Callable[..., Tensor], output: Tensor, label: Tensor) -> Tensor:
    """A loss averaged over the values of each sample, with absent labels counting as zero; (B,)."""
    absent = label.isnan()
    values = loss(output.float(), label.where(~absent, 0.0), reduction="none")
    return values.where(~absent, 0.0).flatten(1).mean(dim=1)


def mean_losses(per_sample: dict[str, Tensor], config: TrainConfig) -> dict[str, Tensor]:
    """The mean of each loss over the batch, and under `loss` their weighted sum."""
    means = {name: values.mean() for name, values in per_sample.items()}
    total = sum(getattr(config, f"{name}_weight") * value for name, value in means.items())
    return {"loss": torch.as_tensor(total), **{f"{name}_loss": value for name, value in means.items()}}
