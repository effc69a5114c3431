"""Makers of a small market with a rule that can be learnt, and of trainings of a DQN in it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from makers import STREAMS, tiny_samples, tiny_train

from model.dqn_presets import base
from model.dqn_recipe import DqnRecipe
from model.dqn_training import DqnTraining
from model.presets import fitted
from model.trainer import FitResult, run

WINDOW, SAMPLES = 4, tiny_samples(11, 6)
TINY = fitted(replace(base(), hidden=16, window_bars=WINDOW), SAMPLES)
RECIPE = DqnRecipe(replay_start=20, replay_batch=8, target_every=10, replay_capacity=60, learn_every=2)


def market(train: int, validation: int = 0, length: int = 12) -> dict[str, np.ndarray]:
    """Episodes in which the first indicator tells the next move: up or down by one in a hundred."""
    count, draw = train + validation, np.random.default_rng(5)
    moves = draw.choice([-0.01, 0.01], (count, length))
    prices = 100 * np.exp(np.cumsum(np.concatenate([np.zeros((count, 1)), moves[:, :-1]], axis=1), axis=1))
    rows = count * length
    tech = draw.normal(size=(rows, 4)).astype(np.float32)
    tech[:, 0] = 100 * moves.reshape(-1)
    return {
        "price_data": draw.normal(size=(rows, STREAMS, WINDOW, 5)).astype(np.float32),
        "cob_data": draw.normal(size=(rows, 1, 6)).astype(np.float32),
        "tech_data": tech,
        "market_data": draw.normal(size=(rows, 3)).astype(np.float32),
        "price": prices.reshape(-1),
        "trade": np.arange(count),
        "length": np.full(count, length),
        "whole": np.ones(count, bool),
        "split": np.repeat(np.array([0, 1], np.int8), [train, validation]),
        "position_deviation": np.ones(5),
    }


MARKET = market(4, 2)


def training(folder: Path, recipe: DqnRecipe = RECIPE, **more: Any) -> DqnTraining:
    episodes, model = more.pop("episodes", MARKET), more.pop("model", TINY)
    return DqnTraining(tiny_train(**more), model, SAMPLES, folder, episodes, recipe)


def train(folder: Path, rows: list[dict[str, Any]] | None = None, **more: Any) -> FitResult:
    resume = more.pop("resume", None)
    return run(training(folder, **more), log=[].append if rows is None else rows.append, resume=resume)
