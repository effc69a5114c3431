"""Training: what is learnt, when it stops, and that it goes on bit by bit after any interruption."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from makers import tiny_model, tiny_samples, tiny_train

from model import checkpoint
from model.checkpoint import WEIGHTS, latest, list_complete
from model.learner import Learner
from model.networks import build
from model.presets import PRESETS, preset
from model.recipe import TrainConfig
from model.trainer import DivergedError, FitResult, fit, resume_point
from model.training import Training
from model.weights import pack

SAMPLES = tiny_samples(11, 6)


class Killed(BaseException):
    """Stands for a kill: nothing of ours may catch it."""


def train(folder: Path, config: TrainConfig, rows: list[dict[str, Any]] | None = None, **more: Any) -> FitResult:
    log = (lambda row: None) if rows is None else rows.append
    samples = more.pop("samples", SAMPLES)
    return fit(config, more.pop("model", tiny_model()), samples, log=log, checkpoints=folder, **more)


def bits(result: FitResult) -> bytes:
    return pack(result.weights)


def kill_after(update: int) -> Any:
    def log(row: dict[str, Any]) -> None:
        if row["split"] == "train" and row["step"] == update:
            raise Killed

    return log


@pytest.mark.parametrize("name", PRESETS)
def test_a_batch_can_be_learnt_by_heart(tmp_path: Path, name: str) -> None:
    """Each preset in a small width: its own scales, depth of projections, cross layers and kind of norm."""
    shape = preset(name)
    features = ("scales", "cross_layers", "adaptive_norm")
    own = {feature: getattr(shape, feature) for feature in features} | {"qkv_hidden": 16 if shape.qkv_hidden else 0}
    rows: list[dict[str, Any]] = []
    config = tiny_train(epochs=60, learning_rate=3e-3, label_smoothing=0.0, batch_size=6)
    train(tmp_path, config, rows, samples=tiny_samples(6), model=tiny_model(dropout=0.0, **own))
    assert rows[-1]["action_loss"] < 0.1 * rows[0]["action_loss"]


def test_a_rule_is_learnt_that_holds_for_unseen_samples(tmp_path: Path) -> None:
    result = train(tmp_path, tiny_train(epochs=12, learning_rate=3e-3), samples=tiny_samples(60, 30))
    assert max(row["balanced_accuracy"] for row in result.history) > 0.9


def test_rows_of_the_log(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    result = train(tmp_path, tiny_train(epochs=2), rows)
    kinds = [(row["split"], row["epoch"], row["step"]) for row in rows]
    one, two = [("train", 1, i) for i in (1, 2, 3)], [("train", 2, i) for i in (4, 5, 6)]
    assert kinds == [*one, ("validation", 1, 3), *two, ("validation", 2, 6)]
    assert [row["samples"] for row in rows if row["split"] == "train"] == [5, 5, 1] * 2
    names = {"loss", "action_loss", "confidence_loss", "price_loss", "candle_loss", "pivot_loss", "success_loss"}
    assert names | {"lr", "elapsed_s", "grad_norm"} <= set(rows[0])
    assert names | {"balanced_accuracy", "elapsed_s"} <= set(rows[3])
    assert (result.epochs, result.steps, result.ended) == (2, 6, "finished")
    assert result.samples == {"train": 11, "validation": 6}
    json.dumps([rows, result.history, result.memory])


@pytest.mark.parametrize("count", [1, 4, 5, 6, 11])
def test_any_number_of_samples_trains(tmp_path: Path, count: int) -> None:
    result = train(tmp_path, tiny_train(epochs=1), samples=tiny_samples(count))
    assert result.steps == -(-count // 5)
    assert (result.best_epoch, result.history) == (None, [])


def test_no_training_sample_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the training split has 0 samples, expected at least 1"):
        train(tmp_path, tiny_train(), samples=tiny_samples(0, 3))


def test_a_missing_action_is_told(tmp_path: Path) -> None:
    samples = tiny_samples(6)
    samples["actions"][:] = 0
    result = train(tmp_path, tiny_train(epochs=1), samples=samples)
    assert [text.split(":")[0] for text in result.warnings] == [
        "no training sample has the action buy",
        "no training sample has the action sell",
    ]


def test_a_remainder_weighs_what_its_samples_weigh(tmp_path: Path) -> None:
    """Gradients of batches of 5, 5 and 1, added up, are the gradient of all 11 (with no clipping and no dropout)."""

    def gradient(size: int) -> torch.Tensor:
        training = Training(tiny_train(batch_size=size, clip_norm=1e3), tiny_model(dropout=0.0), SAMPLES, tmp_path)
        parts = []
        for rows in torch.arange(11).split(size):
            training.learner._step = lambda norm: False  # type: ignore[method-assign]
            training.update(rows)
            grads = [p.grad.flatten() for p in training.learner.model.parameters() if p.grad is not None]
            parts.append(torch.cat(grads) * size / 11)
        return torch.stack(parts).sum(dim=0)

    torch.testing.assert_close(gradient(5), gradient(11), rtol=1e-4, atol=1e-6)


def test_same_seed_same_bits(tmp_path: Path) -> None:
    first, again = train(tmp_path / "a", tiny_train()), train(tmp_path / "b", tiny_train())
    other = train(tmp_path / "c", tiny_train(seed=8))
    assert bits(first) == bits(again) != bits(other)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_recomputing_gives_the_same_losses_and_bits(tmp_path: Path, precision: str) -> None:
    rows: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    model = tiny_model(dropout=0.3)
    plain, samples = tiny_train(epochs=5, precision=precision), tiny_samples(50)
    results = [
        train(tmp_path / str(on), replace(plain, checkpointing=on), rows[on], model=model, samples=samples)
        for on in rows
    ]
    losses = [[row["loss"] for row in rows[on] if row["split"] == "train"] for on in rows]
    assert len(losses[0]) == 50
    assert losses[0] == losses[1]
    assert bits(results[0]) == bits(results[1])


@pytest.mark.parametrize("every", [0, 2])
@pytest.mark.parametrize("update", range(1, 10))
def test_killed_anywhere_a_run_goes_on_to_the_same_bits(tmp_path: Path, update: int, every: int) -> None:
    config, model = tiny_train(checkpoint_every_updates=every), tiny_model(dropout=0.3)
    rows: list[dict[str, Any]] = []
    whole = train(tmp_path / "whole", config, rows, model=model)
    with pytest.raises(Killed):
        fit(config, model, SAMPLES, log=kill_after(update), checkpoints=tmp_path / "killed")
    point = resume_point(tmp_path / "killed", config, model, SAMPLES)
    assert (point is None) == (update <= (every or 3))
    again: list[dict[str, Any]] = []
    torch.manual_seed(999)
    resumed = train(tmp_path / "killed", config, again, model=model, resume=point.path if point else None)
    assert bits(resumed) == bits(whole)
    assert resumed.best_epoch == whole.best_epoch
    assert [row["loss"] for row in again] == [row["loss"] for row in rows[-len(again) :]]
    assert [row["balanced_accuracy"] for row in resumed.history] == [row["balanced_accuracy"] for row in whole.history]
    repeated = update - (point.step if point else 0)
    assert repeated <= (every or 3)


def test_a_stop_is_obeyed_after_saving(tmp_path: Path) -> None:
    config = tiny_train()
    seen: list[dict[str, Any]] = []
    stopped = train(tmp_path / "a", config, seen, should_stop=lambda: len(seen) == 6)  # five updates, one validation
    assert (stopped.ended, stopped.steps, stopped.epochs) == ("asked", 5, 1)
    point = latest(tmp_path / "a")
    assert point is not None
    assert point.step == 5
    resumed = train(tmp_path / "a", config, resume=point.path)
    assert bits(resumed) == bits(train(tmp_path / "b", config))


def test_a_finished_run_that_goes_on_is_at_its_end(tmp_path: Path) -> None:
    done = train(tmp_path, tiny_train())
    rows: list[dict[str, Any]] = []
    again = train(tmp_path, tiny_train(), rows, resume=latest(tmp_path).path)  # type: ignore[union-attr]
    assert rows == []
    assert bits(again) == bits(done)


@pytest.mark.parametrize(
    ("config", "model", "samples", "sentence"),
    [
        ({"seed": 8}, {}, SAMPLES, "train.seed is 7, expected 8"),
        ({"epochs": 4, "learning_rate": 1e-3}, {}, SAMPLES, "train.epochs is 3, expected 4; train.learning_rate is"),
        ({}, {"d_ff": 64}, SAMPLES, "model.d_ff is 32, expected 64"),
        ({}, {}, tiny_samples(11, 6, seed=2), "the samples are others"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_with_what_differs(
    tmp_path: Path, config: Any, model: Any, samples: Any, sentence: str
) -> None:
    train(tmp_path, tiny_train())
    path = latest(tmp_path).path  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=f"cannot go on from this checkpoint: {sentence}"):
        train(tmp_path, tiny_train(**config), model=tiny_model(**model), samples=samples, resume=path)
    assert resume_point(tmp_path, tiny_train(**config), tiny_model(**model), samples) is None


def test_what_is_kept_may_change_between_parts_of_a_run(tmp_path: Path) -> None:
    train(tmp_path, tiny_train())
    assert resume_point(tmp_path, tiny_train(keep_checkpoints=5), tiny_model(), SAMPLES) is not None


def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(tmp_path: Path) -> None:
    done = train(tmp_path, tiny_train())
    (list_complete(tmp_path)[-1].path / WEIGHTS).write_bytes(b"")
    point = resume_point(tmp_path, tiny_train(), tiny_model(), SAMPLES)
    assert point is not None
    assert point.step == 6
    assert bits(train(tmp_path, tiny_train(), resume=point.path)) == bits(done)
    assert [entry.step for entry in list_complete(tmp_path)][-1] == 9
    assert checkpoint.list_faults(tmp_path) == []


def test_a_new_run_replaces_what_another_left_but_not_before_it_has_saved(tmp_path: Path) -> None:
    train(tmp_path, tiny_train(epochs=5))
    with pytest.raises(Killed):
        fit(tiny_train(seed=8), tiny_model(), SAMPLES, log=kill_after(1), checkpoints=tmp_path)
    assert list_complete(tmp_path)[-1].step == 15
    train(tmp_path, tiny_train(seed=8, epochs=1))
    assert [entry.step for entry in list_complete(tmp_path)] == [3]


@pytest.mark.parametrize(
    ("part", "sentence"), [("loss", "the loss is inf"), ("gradient", "the norm of the gradient is nan")]
)
def test_a_number_that_is_none_stops_before_the_weights_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, sentence: str
) -> None:
    if part == "loss":
        real = Learner.losses
        count = iter(range(100))

        def losses(self: Learner, batch: Any) -> Any:
            factor = float("inf") if next(count) == 6 else 1.0
            return {name: value * factor for name, value in real(self, batch).items()}

        monkeypatch.setattr(Learner, "losses", losses)
    else:
        real_clip = torch.nn.utils.clip_grad_norm_
        calls = iter(range(100))
        monkeypatch.setattr(
            torch.nn.utils,
            "clip_grad_norm_",
            lambda *given: torch.tensor(float("nan")) if next(calls) == 6 else real_clip(*given),
        )
    training = Training(tiny_train(), tiny_model(), SAMPLES, tmp_path)
    for _ in range(6):
        training.update(torch.arange(5))
    before = training.learner.weights()
    with pytest.raises(DivergedError, match=rf"training stopped at update 7 \(epoch 1\): {sentence}; "):
        training.update(torch.arange(5))
    assert pack(training.learner.weights()) == pack(before)


def test_an_overflow_in_fp16_skips_the_step_and_holds_the_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch.nn.utils.clip_grad_norm_
    training = Training(tiny_train(precision="fp16"), tiny_model(), SAMPLES, tmp_path)
    training.learner.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**125, growth_interval=1)
    before, rows = training.learner.weights(), [training.update(torch.arange(5))]
    assert pack(training.learner.weights()) == pack(before)
    training.learner.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**4)
    rows.append(training.update(torch.arange(5)))
    assert pack(training.learner.weights()) != pack(before)
    assert rows[0]["lr"] == rows[1]["lr"]
    assert training.progress.skipped == 1
    assert real is torch.nn.utils.clip_grad_norm_


def test_early_stopping_gives_back_the_best_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([0.2, 0.6, 0.5, 0.4, 0.9])
    real = Learner.evaluate
    monkeypatch.setattr(
        Learner, "evaluate", lambda self, fields: {**real(self, fields), "balanced_accuracy": next(scores)}
    )
    after: dict[int, bytes] = {}
    real_end = Training.end_epoch

    def end_epoch(self: Training) -> Any:
        row = real_end(self)
        after[self.progress.epoch] = pack(self.learner.weights())
        return row

    monkeypatch.setattr(Training, "end_epoch", end_epoch)
    result = train(tmp_path, tiny_train(epochs=9, patience_epochs=2))
    assert (result.ended, result.epochs, result.best_epoch, result.best_step) == ("early", 4, 2, 6)
    assert bits(result) == after[2]
    assert 6 in [entry.step for entry in list_complete(tmp_path)]


def test_memory_is_measured_and_includes_weights_and_moments(tmp_path: Path) -> None:
    result = train(tmp_path, tiny_train(epochs=1))
    weights = sum(value.numel() * 4 for value in build(tiny_model()).parameters())
    assert result.memory["kind"] == "cpu"
    assert result.memory["measured_bytes"] > 4 * weights
    assert result.memory["process_peak_bytes"] > result.memory["measured_bytes"]


def test_counting_tensors_changes_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = train(tmp_path / "a", tiny_train())
    monkeypatch.setattr("model.memory.WATCHED", {"update": 0, "validation": 0})
    plain = train(tmp_path / "b", tiny_train())
    assert bits(counted) == bits(plain)
    assert "measured_bytes" not in plain.memory


def test_a_device_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device is cuda, expected one that is there: "):
        train(tmp_path, tiny_train(device="cuda"))
    assert train(tmp_path, tiny_train(device="auto", epochs=1)).device.why == "cuda and mps not found"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"batch_size": 0}, "batch_size is 0, expected 1 to 512 or auto"),
        ({"batch_size": "many"}, "batch_size is 'many', expected a number or auto"),
        ({"learning_rate": float("nan")}, "learning_rate is nan, expected a finite number"),
        ({"keep_checkpoints": 0}, "keep_checkpoints is 0, expected 1 to 100"),
        ({"precision": "fp8"}, "precision is 'fp8', expected one of fp32, bf16, fp16"),
    ],
)
def test_settings_out_of_bounds_are_refused(change: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        tiny_train(**change)


def test_arrays_are_left_as_they_were(tmp_path: Path) -> None:
    before = {name: values.copy() for name, values in SAMPLES.items()}
    train(tmp_path, tiny_train(epochs=1))
    assert all(np.array_equal(before[name], SAMPLES[name]) for name in before)
