"""What rules without any learning reach on the same test samples; a model below them is worth nothing."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from model.batches import SPLITS
from model.losses import ACTIONS
from model.metrics import accuracy, balanced_accuracy, confusion, macro_f1


def baselines(samples: Mapping[str, np.ndarray]) -> dict[str, dict[str, float | None]]:
    """Accuracy, balanced accuracy and macro F1 of each rule, learnt on the train split, judged on the test split.

    Raises ValueError if the train split is empty.
    """
    train, test = (samples["split"] == SPLITS[name] for name in ("train", "test"))
    if not train.any():
        raise ValueError("the training split has 0 samples, expected at least 1")
    seen, asked = samples["actions"][train], samples["actions"][test]
    states = _states(samples["position_state"])
    return {
        "majority": _scores(asked, np.full(len(asked), _most(seen))),
        "prior": _prior(seen, asked),
        "position": _scores(asked, _by_state(states[train], seen, states[test])),
    }


def _states(position_state: np.ndarray) -> np.ndarray:
    """In position or not, and the direction, as one text a sample (the scaler moves them but keeps them apart)."""
    return np.array([f"{held:.3f} {side:.3f}" for held, side in position_state[:, :2]])


def _most(actions: np.ndarray) -> int:
    """The most frequent action; the first of `ACTIONS` among equals."""
    return int(np.bincount(actions, minlength=len(ACTIONS)).argmax())


def _by_state(states: np.ndarray, actions: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The most frequent training action of each sample's position state; of all samples for an unknown state."""
    known = {state: _most(actions[states == state]) for state in Counter(states)}
    return np.array([known.get(state, _most(actions)) for state in asked], dtype=np.int64)


def _scores(actual: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    table = confusion(actual, predicted)
    return {
        "accuracy": accuracy(table),
        "balanced_accuracy": balanced_accuracy(table),
        "macro_f1": macro_f1(table),
    }


def _prior(seen: np.ndarray, asked: np.ndarray) -> dict[str, Any]:
    """What drawing actions by their training shares reaches in expectation; its F1 has no closed form."""
    if not len(asked):
        return {"accuracy": None, "balanced_accuracy": None, "macro_f1": None}
    share = np.bincount(seen, minlength=len(ACTIONS)) / len(seen)
    actual = np.bincount(asked, minlength=len(ACTIONS)) / len(asked)
    present = actual > 0
    return {
        "accuracy": float(share @ actual),
        "balanced_accuracy": float(share[present].mean()),
        "macro_f1": None,
    }
