"""Q-learning by hand: targets, loss, exploration, and a memory whose order the seed decides."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from makers import tiny_train
from tiny_market import MARKET, RECIPE, SAMPLES, TINY, WINDOW, training

from model.device import choose
from model.dqn_presets import PRESETS
from model.dqn_recipe import DqnRecipe
from model.environment import SELL
from model.kinds import preset
from model.presets import fitted
from model.q_learner import QLearner
from model.q_learning import epsilon, taken, td_targets
from model.replay import Replay, Step
from model.rollout import play


def step(number: int) -> Step:
    before, after = np.full(5, number, np.float32), np.zeros(5, np.float32)
    return Step(number, before, number % 3, number / 10, after, terminated=number % 2 == 0)


def test_targets_by_hand() -> None:
    after = torch.tensor([[1.0, 3.0, 2.0], [1.0, 3.0, 2.0], [-1.0, -3.0, -2.0]])
    found = td_targets(torch.tensor([0.5, 0.5, 1.0]), torch.tensor([False, True, False]), after, 0.9)
    assert torch.allclose(found, torch.tensor([0.5 + 0.9 * 3, 0.5, 1.0 - 0.9 * 1]))


def test_a_truncated_step_is_worth_what_follows_and_a_terminated_one_is_not(tmp_path: Path) -> None:
    for whole in (True, False):
        acting = training(tmp_path, episodes={**MARKET, "whole": np.full(6, whole)})
        kept: list[Step] = []
        play(acting.env, 0, lambda seen: SELL, kept.append)
        assert [entry.terminated for entry in kept] == [False] * 10 + [whole]


def test_the_loss_by_hand() -> None:
    learner = QLearner(tiny_train(), TINY, choose("cpu"), replace(RECIPE, discount=0.5), MARKET)
    for network, values in ((learner.model, [1.0, 2.0, 4.0]), (learner.target, [3.0, 2.0, 1.0])):
        for value in network.parameters():
            value.data.zero_()
        network.value[-1].bias.data = torch.tensor(values)  # type: ignore[index, union-attr]
    for number in (1, 2):
        learner.replay.add(step(number))  # actions 1 and 2, rewards 0.1 and 0.2, the second terminated
    loss, values = learner.loss({name: stored[:2] for name, stored in learner.replay.steps.items()})
    assert values.tolist() == [2.0, 4.0]
    errors = (2.0 - (0.1 + 0.5 * 3.0), 4.0 - 0.2)  # 0.4 and 3.8: Huber 0.08 and 3.3
    assert float(loss.detach()) == pytest.approx((errors[0] ** 2 / 2 + errors[1] - 0.5) / 2)


def test_the_target_network_is_copied_when_it_is_due(tmp_path: Path) -> None:
    acting, same = training(tmp_path, replace(RECIPE, target_every=3)), []
    for _ in zip(range(6), acting.epoch(), strict=False):
        pairs = zip(acting.learner.model.parameters(), acting.learner.target.parameters(), strict=True)
        same.append(all(torch.equal(*pair) for pair in pairs))
    assert same == [False, False, True, False, False, True]


def test_values_of_the_actions_taken() -> None:
    assert taken(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([2, 0])).tolist() == [3.0, 4.0]


def test_epsilon_falls_in_a_line_and_stays() -> None:
    recipe = DqnRecipe(epsilon_start=1.0, epsilon_end=0.2, epsilon_fraction=0.5)
    assert [round(epsilon(at, 100, recipe), 3) for at in (0, 25, 50, 99)] == [1.0, 0.6, 0.2, 0.2]
    assert epsilon(0, 100, replace(recipe, epsilon_fraction=0.0)) == pytest.approx(0.2)


def test_steps_enter_the_memory_one_by_one_and_the_oldest_give_way() -> None:
    replay = Replay(3, seed=1)
    sizes = []
    for number in range(5):
        replay.add(step(number))
        sizes.append(len(replay))
    assert sizes == [1, 2, 3, 3, 3]
    assert replay.steps["row"].tolist() == [3, 4, 2]
    assert replay.steps["position"][:, 0].tolist() == [3.0, 4.0, 2.0]
    assert replay.steps["terminated"].tolist() == [False, True, True]


def test_the_order_of_replay_is_the_seed_s_and_goes_on_after_a_restart() -> None:
    def filled(seed: int) -> Replay:
        replay = Replay(50, seed)
        for number in range(50):
            replay.add(step(number))
        return replay

    first, again, other = filled(1), filled(1), filled(2)
    drawn = [first.draw(8)["row"].tolist() for _ in range(3)]
    assert drawn == [again.draw(8)["row"].tolist() for _ in range(3)]
    assert drawn[0] != other.draw(8)["row"].tolist()
    later = Replay(50, seed=9)
    later.fill(first.steps)
    later.restore(first.state())
    assert later.draw(8)["row"].tolist() == first.draw(8)["row"].tolist()


def test_one_minibatch_is_learnt_by_heart(tmp_path: Path) -> None:
    for name in PRESETS:
        model = fitted(replace(preset("dqn", name), hidden=16, window_bars=WINDOW), SAMPLES)
        recipe = replace(RECIPE, target_every=1_000_000)  # the targets stand still
        acting = training(tmp_path, recipe, model=model)
        acting._fill()
        batch = acting.learner.drawn(8)
        losses = [acting.learner.update(batch, 3e-3, 1.0)["loss"] for _ in range(300)]
        assert losses[-1] < 1e-3 < losses[0]
