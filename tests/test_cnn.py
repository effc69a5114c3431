"""The CNN: its flat sample place by place, every preset, and the same promises as the transformer's training."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from makers import STREAMS, tiny_samples, tiny_train
from torch import Tensor

from dataset import scaler
from model.batches import tensors
from model.cnn_presets import PRESETS, CnnConfig, base
from model.flat import flat_sample, flat_size
from model.kinds import from_dict, preset
from model.networks import build, recompute
from model.predictions import INPUTS, predict
from model.presets import fitted, to_dict
from model.serving import Predictor
from model.size import size, size_table
from model.trainer import FitResult, fit, resume_point
from model.weights import load_model, pack, save_model

TINY = fitted(replace(base(), widths=(8, 8, 8), hidden=8), tiny_samples(1))
SAMPLES = tiny_samples(11, 6)


class Killed(BaseException):
    """Stands for a kill."""


def full_size(count: int, bars: int = 300) -> dict[str, Tensor]:
    """Inputs with the features of a real sample."""
    draw = torch.Generator().manual_seed(1)
    shapes = {
        "price_data": (5, bars, 5), "cob_data": (bars, 100), "tech_data": (40,), "market_data": (30,),
        "position_state": (5,),
    }  # fmt: skip
    return {name: torch.randn(count, *shape, generator=draw) for name, shape in shapes.items()}


def train(folder: Path, rows: list[dict[str, Any]], model: CnnConfig = TINY, **more: Any) -> FitResult:
    samples = more.pop("samples", SAMPLES)
    resume = more.pop("resume", None)
    return fit(tiny_train(**more), model, samples, log=rows.append, checkpoints=folder, resume=resume)


def test_a_flat_sample_has_the_documented_length() -> None:
    assert flat_size(5, 100) == 7850
    assert flat_sample(full_size(2)).shape == (2, 7850)


def test_every_number_of_a_flat_sample_has_its_place() -> None:
    batch = full_size(2, bars=200)
    flat = flat_sample(batch)
    prices = flat[:, :7500].view(2, 5, 300, 5)
    assert torch.equal(prices[:, :, 100:], batch["price_data"])
    assert not prices[:, :, :100].any()
    assert torch.equal(flat[:, 7500:7600], batch["cob_data"][:, -1])
    assert torch.allclose(flat[:, 7600:7700], batch["cob_data"].mean(dim=1), atol=1e-6)
    assert torch.equal(flat[:, 7700:7740], batch["tech_data"])
    assert torch.equal(flat[:, 7770:7775], batch["position_state"])
    assert not flat[:, 7775:].any()


def test_a_longer_window_keeps_its_newest_candles() -> None:
    batch = full_size(1, bars=301)
    assert torch.equal(flat_sample(batch)[0, :5], batch["price_data"][0, 0, 1])


def test_candles_without_a_book_do_not_thin_the_mean_book() -> None:
    batch = full_size(1, bars=4)
    batch["cob_data"][:, :2] = 0
    assert torch.allclose(flat_sample(batch)[0, 7600:7700], batch["cob_data"][0, 2:].mean(dim=0))


def test_recent_predictions_are_used_where_samples_hold_them() -> None:
    recent = torch.full((2, 50), 0.5)
    assert torch.equal(flat_sample({**full_size(2), "recent_predictions": recent})[:, 7800:], recent)
    held = {**SAMPLES, "recent_predictions": np.full((17, 50), 0.5, np.float32)}
    network = build(TINY).eval()
    assert not np.array_equal(predict(network, SAMPLES)["probabilities"], predict(network, held)["probabilities"])


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_runs_a_step_that_reaches_every_parameter(name: str) -> None:
    network = build(preset("cnn", name))
    logits = network(full_size(2))["action_logits"]
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 2])).backward()
    assert logits.shape == (2, 3)
    assert all(value.grad is not None and value.grad.any() for value in network.parameters())


@pytest.mark.parametrize("name", PRESETS)
def test_the_size_table_counts_the_network_that_is_built(name: str) -> None:
    config = preset("cnn", name)
    rows = size_table(config)
    built = sum(value.numel() for value in build(config).parameters())
    assert sum(row.count for row in rows) == built == size(config).parameters
    assert {"convolutions: 0", "beside", "join", "action"} <= {row.component for row in rows}
    assert size(config).documented is None


@pytest.mark.parametrize("field", INPUTS)
def test_every_input_matters(field: str) -> None:
    network, batch = build(TINY).eval(), tensors(SAMPLES, "train", torch.device("cpu"))
    before = network(batch)["action_logits"]
    assert not torch.equal(network({**batch, field: batch[field] + 1})["action_logits"], before)


def test_samples_of_a_batch_do_not_touch_each_other() -> None:
    network, batch = build(TINY).eval(), tensors(SAMPLES, "train", torch.device("cpu"))
    alone = network({name: values[3:4] for name, values in batch.items()})["action_logits"]
    torch.testing.assert_close(network(batch)["action_logits"][3:4], alone)


def test_another_number_of_streams_is_refused() -> None:
    batch = tensors(SAMPLES, "train", torch.device("cpu"))
    with pytest.raises(ValueError, match=r"the flat sample has 1,6\d\d numbers, expected 3,"):
        build(TINY)({**batch, "price_data": batch["price_data"][:, : STREAMS - 1]})


def test_recomputing_changes_no_loss_and_no_gradient() -> None:
    torch.manual_seed(0)
    network = build(replace(TINY, dropout=0.3)).train()
    batch, found = tensors(SAMPLES, "train", torch.device("cpu")), {}
    for wanted in (False, True):
        recompute(network, wanted)
        torch.manual_seed(1)
        loss = network(batch)["action_logits"].square().sum()
        found[wanted] = [loss, *torch.autograd.grad(loss, list(network.parameters()))]
    assert all(torch.equal(*pair) for pair in zip(*found.values(), strict=True))


@pytest.mark.parametrize("name", PRESETS)
def test_one_batch_is_learnt_by_heart(tmp_path: Path, name: str) -> None:
    samples, rows = tiny_samples(6), []
    config = replace(preset("cnn", name), widths=preset("cnn", name).widths[:2], hidden=16, dropout=0.0)
    settings = {"epochs": 30, "learning_rate": 3e-3, "label_smoothing": 0.0, "batch_size": 6, "samples": samples}
    train(tmp_path, rows, fitted(config, samples), **settings)
    assert rows[-1]["action_loss"] < 0.02


def test_heads_that_it_lacks_cost_nothing_and_are_told_nowhere(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    result = train(tmp_path, rows, epochs=1)
    assert {name for name in rows[0] if name.endswith("loss")} == {"loss", "action_loss"}
    assert rows[0]["loss"] == pytest.approx(rows[0]["action_loss"])
    assert any("no recent predictions: 50 features" in warning for warning in result.warnings)
    assert any("windows have 20 candles" in warning for warning in result.warnings)


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    model, config = replace(TINY, dropout=0.3), tiny_train(checkpoint_every_updates=2)

    def killer(row: dict[str, Any]) -> None:
        if row["split"] == "train" and row["step"] == 6:
            raise Killed

    whole = train(tmp_path / "whole", [], model, checkpoint_every_updates=2)
    with pytest.raises(Killed):
        fit(config, model, SAMPLES, log=killer, checkpoints=tmp_path / "killed")
    point = resume_point(tmp_path / "killed", config, model, SAMPLES)
    assert point is not None
    assert point.step == 4
    resumed = train(tmp_path / "killed", [], model, checkpoint_every_updates=2, resume=point.path)
    assert pack(resumed.weights) == pack(whole.weights)


def test_absent_labels_and_a_missing_action_train_and_are_told(tmp_path: Path) -> None:
    absent = {name: np.full_like(SAMPLES[name], np.nan) for name in ("future_prices", "pivots", "trade_success")}
    result = train(tmp_path, [], epochs=1, samples={**SAMPLES, **absent, "actions": np.zeros(17, np.int64)})
    assert "no training sample has the action buy: the model cannot learn it" in result.warnings


def test_a_saved_cnn_comes_back_and_answers_raw_samples(tmp_path: Path) -> None:
    network = build(TINY).eval()
    save_model(tmp_path, network, TINY)
    raw = {name: SAMPLES[name].astype(np.float64) for name in INPUTS}
    (tmp_path / "scaler.json").write_text(scaler.fit(raw, np.arange(17)).to_json())
    assert load_model(tmp_path)[1] == TINY
    answer = Predictor(tmp_path).predict(raw)
    assert set(answer) == {"action", "probabilities"}
    assert answer["probabilities"].shape == (17, 3)


def test_configs_survive_json_and_what_is_impossible_is_refused() -> None:
    assert all(from_dict(to_dict(preset("cnn", name))) == preset("cnn", name) for name in PRESETS)
    for words, action in {
        "cnn has no preset 'legacy', expected one of base, wide, lite": lambda: preset("cnn", "legacy"),
        "kind of network is 'rnn', expected one of transformer, cnn": lambda: from_dict({"kind": "rnn"}),
        "kernel_bars is 4, expected an odd number": lambda: replace(base(), kernel_bars=4),
        r"widths are \(\), expected 1 to 8 numbers": lambda: replace(base(), widths=()),
    }.items():
        with pytest.raises(ValueError, match=words):
            action()
