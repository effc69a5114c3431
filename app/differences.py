"""What sets runs apart: the settings in which they differ, and what came of each."""

from collections.abc import Sequence
from typing import Any

from app.format import MISSING, short, size, took, within
from app.traces import Traces
from flows.runview import RunView


def settings(view: RunView) -> dict[str, str]:
    """All settings of a run, and the dataset version, in words."""
    flat = {
        f"{section}.{name}": words(value) for section, values in view.params.items() for name, value in values.items()
    }
    return {"dataset": short(view.dataset_version)} | flat


def words(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def differing(views: Sequence[RunView]) -> tuple[dict[str, list[str]], int]:
    """The settings that differ, a value a run, and how many are equal."""
    found = [settings(view) for view in views]
    keys = dict.fromkeys(key for entry in found for key in entry)
    rows = {key: [entry.get(key, MISSING) for entry in found] for key in keys}
    apart = {key: values for key, values in rows.items() if len(set(values)) > 1}
    return apart, len(rows) - len(apart)


def outcomes(views: Sequence[RunView], curves: Sequence[Traces]) -> dict[str, list[str]]:
    """What came of each run; rows of which no run knows anything are left out."""
    results = [view.result or {} for view in views]
    rows = {
        "state": [view.state for view in views],
        "balanced accuracy": [judged(found, "balanced_accuracy", "interval") for found in results],
        "macro F1": [judged(found, "macro_f1") for found in results],
        "best validation loss": [lowest(found) for found in curves],
        "peak, measured": [memory(found, "measured_bytes") for found in results],
        "peak, predicted": [memory(found, "predicted_bytes") for found in results],
        "took": [took(view.started_at, view.ended_at) for view in views],
        "weights sha256": [str(found.get("weights_sha256", MISSING))[:12] for found in results],
    }
    return {name: values for name, values in rows.items() if set(values) != {MISSING}}


def judged(found: dict[str, Any], name: str, interval: str = "") -> str:
    report = found.get("evaluation") or {}
    return within(report.get(name), report.get(interval))


def lowest(curves: Traces) -> str:
    losses = [row["loss"] for row in curves["validation"] if "loss" in row]
    return f"{min(losses):.3f}" if losses else MISSING


def memory(found: dict[str, Any], name: str) -> str:
    known = ((found.get("train") or {}).get("memory") or {}).get(name)
    return MISSING if known is None else size(known)
