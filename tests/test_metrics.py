"""Metrics and baselines, against numbers worked out by hand."""

import numpy as np
import pytest
from makers import tiny_samples

from model.baselines import baselines
from model.metrics import confusion, per_class, summary

ACTUAL = np.array([0, 0, 0, 0, 1, 1, 2, 2])
PREDICTED = np.array([0, 0, 0, 1, 1, 0, 1, 2])


def test_metrics_by_hand() -> None:
    found = summary(ACTUAL, PREDICTED)
    assert found["confusion"] == [[3, 1, 0], [1, 1, 0], [0, 1, 1]]
    assert found["accuracy"] == pytest.approx(5 / 8)
    assert found["balanced_accuracy"] == pytest.approx((3 / 4 + 1 / 2 + 1 / 2) / 3)
    assert found["macro_f1"] == pytest.approx((6 / 8 + 2 / 5 + 2 / 3) / 3)
    buy = found["per_class"]["buy"]
    assert (buy["samples"], buy["precision"], buy["recall"]) == (2, pytest.approx(1 / 3), pytest.approx(1 / 2))


def test_a_class_without_samples_is_absent_never_zero() -> None:
    found = summary(np.array([0, 0, 1]), np.array([0, 2, 1]))
    sell = found["per_class"]["sell"]
    assert (sell["recall"], sell["f1"], sell["note"]) == (None, None, "no samples")
    assert found["balanced_accuracy"] == pytest.approx((1 / 2 + 1) / 2)


def test_a_class_that_is_never_predicted_has_no_precision() -> None:
    sell = per_class(confusion(np.array([0, 2]), np.array([0, 0])))["sell"]
    assert (sell["precision"], sell["recall"], sell["f1"], sell["note"]) == (None, 0.0, 0.0, "never predicted")


def test_no_samples_have_no_metrics() -> None:
    empty = np.array([], dtype=np.int64)
    found = summary(empty, empty)
    assert (found["accuracy"], found["balanced_accuracy"], found["macro_f1"]) == (None, None, None)


def judged() -> dict[str, np.ndarray]:
    """Train: flat is hold, hold, buy; in position is sell. Test: flat hold and buy, in position sell, unknown hold."""
    samples = tiny_samples(4, 0, 4)
    samples["actions"] = np.array([0, 0, 1, 2, 0, 1, 2, 0])
    samples["position_state"] = np.zeros((8, 5), dtype=np.float32)
    samples["position_state"][[3, 6], 0] = 1
    samples["position_state"][7, 1] = -1
    return samples


def test_baselines_by_hand() -> None:
    found = baselines(judged())
    assert found["majority"]["accuracy"] == pytest.approx(2 / 4)
    assert found["majority"]["balanced_accuracy"] == pytest.approx(1 / 3)
    assert found["position"]["accuracy"] == pytest.approx(3 / 4)
    assert found["position"]["balanced_accuracy"] == pytest.approx(2 / 3)
    assert found["prior"]["accuracy"] == pytest.approx(0.5 * 0.5 + 0.25 * 0.25 + 0.25 * 0.25)
    assert found["prior"]["macro_f1"] is None


def test_baselines_learn_nothing_from_the_test_split() -> None:
    samples = judged()
    samples["actions"][samples["split"] == 2] = 1
    assert baselines(samples)["majority"]["accuracy"] == 0.0


def test_baselines_need_a_training_sample() -> None:
    with pytest.raises(ValueError, match="training split has 0 samples"):
        baselines(tiny_samples(0, 0, 3))
