"""Losses: means over samples that add up over any batches, and labels that may be absent."""

import math

import pytest
import torch
from makers import tiny_samples, tiny_train
from torch import Tensor

from model.batches import take, tensors
from model.losses import class_weights, label_units, mean_losses, sample_losses

CPU = torch.device("cpu")


def outputs(count: int) -> dict[str, Tensor]:
    torch.manual_seed(3)
    shapes = {"action_logits": (3,), "confidence": (1,), "price": (1,), "trade_success": (1,)}
    return {n: torch.randn(count, *s) for n, s in (shapes | {"next_candles": (2, 5), "pivots": (3, 2)}).items()}


def losses(answers: dict[str, Tensor], batch: dict[str, Tensor], units: dict[str, Tensor]) -> dict[str, Tensor]:
    weights, _ = class_weights(torch.tensor([0, 0, 0, 1, 2]))
    return sample_losses(answers, batch, weights, units, 0.1)


def test_class_weights_let_every_action_count_alike() -> None:
    actions = torch.tensor([0, 0, 0, 1, 2, 2])
    weights, warnings = class_weights(actions)
    assert (torch.bincount(actions) * weights).tolist() == pytest.approx([2, 2, 2])
    assert warnings == []


def test_an_action_without_samples_weighs_nothing_and_is_told() -> None:
    weights, warnings = class_weights(torch.tensor([0, 0, 2]))
    assert weights.tolist() == [0.75, 0.0, 1.5]
    assert warnings == ["no training sample has the action buy: the model cannot learn it"]


@pytest.mark.parametrize("size", [1, 4, 5, 6, 11])
def test_batches_of_any_size_add_up_to_the_whole_split(size: int) -> None:
    batch, answers = tensors(tiny_samples(11), "train", CPU), outputs(11)
    batch["pivots"][2] = torch.nan
    units = label_units(batch)
    whole = mean_losses(losses(answers, batch, units), tiny_train())
    parts = dict.fromkeys(whole, 0.0)
    for rows in torch.arange(11).split(size):
        part = mean_losses(losses(take(answers, rows), take(batch, rows), units), tiny_train())
        parts = {name: total + float(part[name]) * len(rows) / 11 for name, total in parts.items()}
    assert parts == pytest.approx({name: float(value) for name, value in whole.items()}, rel=1e-5)


@pytest.mark.parametrize(
    ("label", "loss"),
    [("pivots", "pivot"), ("next_candles", "candle"), ("trade_success", "success"), ("future_prices", "price")],
)
def test_an_absent_label_costs_nothing_and_moves_nothing(label: str, loss: str) -> None:
    batch, answers = tensors(tiny_samples(4), "train", CPU), outputs(4)
    units = label_units(batch)
    batch[label][1] = torch.nan
    answers = {name: value.requires_grad_() for name, value in answers.items()}
    found = losses(answers, batch, units)[loss]
    found.sum().backward()
    head = {"future_prices": "price"}.get(label, label)
    assert found[1] == 0
    assert found.isfinite().all()
    assert answers[head].grad[1].abs().sum() == 0
    assert answers[head].grad[0].abs().sum() > 0


def test_labels_are_measured_in_their_usual_size() -> None:
    fields = {"future_prices": torch.tensor([3e-3, -4e-3, torch.nan]), "pivots": torch.full((3, 1, 2), torch.nan)}
    units = label_units(fields)
    assert float(units["price"]) == pytest.approx(math.sqrt((9e-6 + 16e-6) / 2))
    assert units["pivots"].tolist() == [[1.0, 1.0]]


def test_confidence_learns_whether_the_action_is_right() -> None:
    batch, answers = tensors(tiny_samples(3), "train", CPU), outputs(3)
    answers["action_logits"] = torch.eye(3) * 9
    answers["confidence"] = torch.full((3, 1), 9.0)
    sure = losses(answers, batch, label_units(batch))["confidence"]
    answers["action_logits"] = torch.eye(3).roll(1, 0) * 9
    assert (losses(answers, batch, label_units(batch))["confidence"] > sure + 1).all()
