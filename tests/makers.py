"""Tiny configs and samples for tests of the model: real shapes, random numbers, a rule that can be learnt."""

from dataclasses import replace
from typing import Any

import numpy as np

from model.presets import ModelConfig, base, fitted
from model.recipe import TrainConfig

STREAMS, BARS = 2, 20


def tiny_model(**changes: Any) -> ModelConfig:
    """A network of a few thousand parameters that fits `tiny_samples`."""
    small: dict[str, Any] = {
        "d_model": 16, "heads": 2, "layers": 2, "d_ff": 32, "pattern_hidden": (8,), "action_hidden": (8,),
        "head_hidden": (8,), "cob_features": 6, "tech_features": 4, "market_features": 3,
    }  # fmt: skip
    return fitted(replace(base(), **{**small, **changes}), tiny_samples(1))


def tiny_train(**changes: Any) -> TrainConfig:
    """A short training run on one thread."""
    plain: dict[str, Any] = {"epochs": 3, "device": "cpu", "threads": 1, "patience_epochs": 100}
    return TrainConfig(**{**plain, **changes})


def tiny_samples(train: int, validation: int = 0, test: int = 0, seed: int = 1) -> dict[str, np.ndarray]:
    """Scaled sample arrays whose action follows the first indicator: low = hold, middle = buy, high = sell."""
    count = train + validation + test
    draw = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return draw.normal(size=(count, *shape)).astype(np.float32)

    tech = normal(4)
    actions = np.arange(count) % 3
    tech[:, 0] = actions * 2.0 - 2.0
    return {
        "price_data": normal(STREAMS, BARS, 5),
        "cob_data": normal(BARS, 6),
        "tech_data": tech,
        "market_data": normal(3),
        "position_state": np.eye(5, dtype=np.float32)[actions % 2],
        "actions": actions.astype(np.int64),
        "future_prices": normal() * 0.01,
        "next_candles": normal(STREAMS, 5),
        "pivots": normal(3, 2) * 0.01,
        "trade_success": (normal(1) > 0).astype(np.float32),
        "split": np.repeat(np.array([0, 1, 2], dtype=np.int8), [train, validation, test]),
    }
