"""How well actions were predicted: from the confusion of two lists, exactly.

Rows of a confusion are actual actions, columns predicted ones. A number that cannot be computed is None, never 0.
"""

from typing import Any

import numpy as np

from model.losses import ACTIONS


def confusion(actual: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """How often each action (row) was predicted as each action (column); (3,3) int64."""
    table = np.zeros((len(ACTIONS), len(ACTIONS)), dtype=np.int64)
    np.add.at(table, (actual, predicted), 1)
    return table


def accuracy(table: np.ndarray) -> float | None:
    """Share of right predictions; None without samples."""
    return float(np.trace(table) / table.sum()) if table.sum() else None


def balanced_accuracy(table: np.ndarray) -> float | None:
    """Mean recall of the actions that have samples; None without samples."""
    recalls = [row[i] / row.sum() for i, row in enumerate(table) if row.sum()]
    return float(np.mean(recalls)) if recalls else None


def macro_f1(table: np.ndarray) -> float | None:
    """Mean F1 of the actions that have samples; None without samples."""
    values = [_f1(table, i) for i, row in enumerate(table) if row.sum()]
    return float(np.mean(values)) if values else None


def per_class(table: np.ndarray) -> dict[str, dict[str, Any]]:
    """Samples, precision, recall and F1 of each action; a `note` says why one is None."""
    return {name: _one_class(table, i) for i, name in enumerate(ACTIONS)}


def _one_class(table: np.ndarray, i: int) -> dict[str, Any]:
    samples, claimed, right = int(table[i].sum()), int(table[:, i].sum()), int(table[i, i])
    row = {
        "samples": samples,
        "precision": right / claimed if claimed else None,
        "recall": right / samples if samples else None,
        "f1": _f1(table, i) if samples else None,
    }
    note = "no samples" if not samples else "" if claimed else "never predicted"
    return {**row, "note": note}


def _f1(table: np.ndarray, i: int) -> float:
    return float(2 * table[i, i] / (table[i].sum() + table[:, i].sum()))


def summary(actual: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    """Every metric of one split as JSON values."""
    table = confusion(actual, predicted)
    return {
        "samples": int(table.sum()),
        "accuracy": accuracy(table),
        "balanced_accuracy": balanced_accuracy(table),
        "macro_f1": macro_f1(table),
        "per_class": per_class(table),
        "confusion": table.tolist(),
        "actions": list(ACTIONS),
    }
