"""The DQN: a market that it learns to trade in, and the promises of every other kind of training."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from makers import BARS, tiny_train
from tiny_market import MARKET, RECIPE, SAMPLES, TINY, WINDOW, market, train, training

from dataset import scaler
from flows.budget import needed_bytes
from flows.params import Params, change
from model.checkpoint import latest
from model.dqn_plan import checkpoint_bytes, plan_dqn
from model.dqn_presets import PRESETS, DqnConfig
from model.dqn_recipe import DqnRecipe
from model.kinds import from_dict, preset
from model.networks import build
from model.plan import plan
from model.predictions import INPUTS, predict
from model.presets import to_dict
from model.resume import newest_of
from model.rollout import returns
from model.serving import Predictor
from model.size import size, size_table
from model.trainer import run
from model.weights import pack, save_model


class Killed(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_runs_a_step_and_is_counted(name: str) -> None:
    config = preset("dqn", name)
    shapes = {
        "price_data": (5, 200, 5), "cob_data": (200, 100), "tech_data": (40,), "market_data": (30,),
        "position_state": (5,),
    }  # fmt: skip
    network = build(config)
    values = network({field: torch.randn(2, *shape) for field, shape in shapes.items()})["q_values"]
    values.square().sum().backward()
    assert values.shape == (2, 3)
    assert all(value.grad is not None and value.grad.any() for value in network.parameters())
    assert sum(row.count for row in size_table(config)) == size(config).parameters
    assert from_dict(to_dict(config)) == config


def test_it_learns_to_trade_and_beats_chance_and_idleness(tmp_path: Path) -> None:
    episodes = market(12, 4)
    model = train(
        tmp_path, episodes=episodes, epochs=20, learning_rate=3e-3, recipe=replace(RECIPE, replay_capacity=2000)
    )
    network = build(TINY)
    network.load_state_dict(model.weights)
    found = returns(network, episodes, RECIPE.fee_bps, seed=1)
    for split in ("train", "validation"):
        assert found[split]["dqn"] > 1.0 > 0.0 == found[split]["hold"] > found[split]["random"]
    assert found["test"] == {"episodes": 0, "dqn": None, "random": None, "hold": None}


def test_rows_of_the_log(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    result = train(tmp_path, rows, epochs=2)
    updates = 4 * 11 // 2
    assert [row["step"] for row in rows if row["split"] == "train"] == list(range(1, 2 * updates + 1))
    assert {"loss", "q_mean", "epsilon", "episode_return", "lr", "samples", "grad_norm"} <= set(rows[0])
    assert {"loss", "episode_return", "balanced_accuracy"} <= set(rows[updates])
    assert (result.steps, result.batch_size, result.best_epoch) == (44, 8, 1)
    assert result.memory["measured_bytes"] > 0


def test_an_epoch_that_still_explores_does_not_compete(tmp_path: Path) -> None:
    early = train(tmp_path / "a", epochs=3, recipe=replace(RECIPE, epsilon_fraction=1.0))
    assert early.best_epoch == 3
    assert len(early.history) == 3


@pytest.mark.parametrize("update", [1, 7, 22, 23, 50])
def test_killed_anywhere_a_run_goes_on_to_the_same_bits(tmp_path: Path, update: int) -> None:
    def killer(row: dict[str, Any]) -> None:
        if row["split"] == "train" and row["step"] == update:
            raise Killed

    rows: list[dict[str, Any]] = []
    whole = train(tmp_path / "whole", rows, checkpoint_every_updates=5)
    killed = training(tmp_path / "killed", checkpoint_every_updates=5)
    with pytest.raises(Killed):
        run(killed, log=killer)
    point = newest_of(tmp_path / "killed", killed.origin)
    assert (point is None) == (update < 6)
    again: list[dict[str, Any]] = []
    resumed = train(tmp_path / "killed", again, checkpoint_every_updates=5, resume=point.path if point else None)
    assert pack(resumed.weights) == pack(whole.weights)
    plain: Callable[[dict[str, Any]], dict[str, Any]] = lambda row: {**row, "elapsed_s": 0}  # noqa: E731
    assert [plain(row) for row in again] == [plain(row) for row in rows[-len(again) :]]


def test_another_recipe_does_not_go_on(tmp_path: Path) -> None:
    train(tmp_path, epochs=1)
    point = next(tmp_path.glob("step-*"))
    with pytest.raises(ValueError, match=r"train\.dqn\.fee_bps is 5\.0, expected 9\.0"):
        train(tmp_path, epochs=1, recipe=replace(RECIPE, fee_bps=9.0), resume=point)


def test_memory_is_planned_as_it_is_measured(tmp_path: Path) -> None:
    planned = plan_dqn(tiny_train(), TINY, RECIPE, MARKET, (11, 6))
    measured = train(tmp_path, epochs=1).memory["measured_bytes"]
    assert abs(planned.predicted_bytes / measured - 1) <= 0.03
    with pytest.raises(ValueError, match="depends on its episodes"):
        plan(TINY, 2, 20, "fp32", True)


def test_a_checkpoint_is_as_large_as_the_budget_says(tmp_path: Path) -> None:
    """With the target network and the memory of steps, of which a large one outweighs the network."""
    recipe = replace(RECIPE, replay_capacity=50_000)
    train(tmp_path, epochs=1, recipe=recipe)
    found = latest(tmp_path)
    assert found is not None
    assert 0 <= found.size_bytes - checkpoint_bytes(TINY, recipe) < 40_000  # names, shapes and JSON
    small, large = ({"model": {"kind": "dqn"}, "dqn": {"replay_capacity": count}} for count in (20_000, 1_000_000))
    more = needed_bytes(change(Params(), large)) - needed_bytes(change(Params(), small))
    assert more == 2 * 61 * 980_000


def test_a_saved_dqn_answers_raw_samples_with_its_values(tmp_path: Path) -> None:
    save_model(tmp_path, build(TINY), TINY)
    raw = {name: SAMPLES[name].astype(np.float64) for name in INPUTS}
    (tmp_path / "scaler.json").write_text(scaler.fit(raw, np.arange(17)).to_json())
    answer = Predictor(tmp_path).predict(raw)
    assert answer["q_values"].shape == (17, 3)
    best = answer["q_values"].argmax(axis=1)
    assert np.array_equal(answer["probabilities"], np.eye(3)[best])
    assert answer["action"] == [("hold", "buy", "sell")[number] for number in best]


def test_only_the_newest_candles_and_book_count() -> None:
    network, older = build(TINY).eval(), {name: SAMPLES[name].copy() for name in INPUTS}
    older["price_data"][:, :, : BARS - WINDOW] = 9
    older["cob_data"][:, :-1] = 9
    assert np.array_equal(predict(network, SAMPLES)["q_values"], predict(network, older)["q_values"])


@pytest.mark.parametrize(
    ("words", "act"),
    [
        ("precision is bf16, expected fp32", lambda folder: training(folder, precision="bf16")),
        ("training split has 0 episodes", lambda folder: training(folder, episodes=market(0, 2))),
        ("have 4 steps, expected at least 50", lambda folder: training(
            folder, replace(RECIPE, learn_every=50), episodes=market(1, 1, length=5))),
        ("at most replay_capacity, which is 8", lambda folder: DqnRecipe(replay_start=9, replay_capacity=8)),
        ("dqn has no preset 'legacy'", lambda folder: preset("dqn", "legacy")),
        ("price_data has 2 streams of 4 candles, expected 2 of at least 20", lambda folder: build(
            replace(TINY, window_bars=20))({"price_data": torch.zeros(1, 2, 4, 5), "position_state": torch.ones(5)})),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_refused_in_a_sentence(
    tmp_path: Path, words: str, act: Callable[[Path], object]
) -> None:
    with pytest.raises(ValueError, match=words):
        act(tmp_path)


def test_without_validation_episodes_nothing_is_judged(tmp_path: Path) -> None:
    result = train(tmp_path, episodes=market(4), epochs=1)
    assert (result.best_epoch, result.history) == (None, [])


def test_it_needs_no_action_of_the_annotator_to_learn(tmp_path: Path) -> None:
    assert isinstance(TINY, DqnConfig)
    assert training(tmp_path).warnings == []
