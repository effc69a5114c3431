"""What came of a finished run: its score beside the rules it must beat, and the facts of its data and weights."""

from typing import Any

import streamlit as st

from app import scores
from app.format import MISSING, count, percent, plain, short, size, within
from flows.runview import RunView
from model.kinds import title

SCORE = "balanced_accuracy"
RULES = {
    "majority": "always the commonest action",
    "prior": "drawn by frequency",
    "position": "from the position alone",
}

UNRECORDED = "trained, not recorded: MLflow did not take it; it is recorded once MLflow answers"


def show(view: RunView) -> None:
    found = view.result or {}
    left, right = st.columns([5, 4], gap="medium")
    with left:
        score(found["evaluation"])
    with right:
        st.table({name: plain(text) for name, text in facts(found).items()}, border="horizontal")


def score(judged: dict[str, Any]) -> None:
    st.markdown(f"**{answer(judged)}**")
    known = [("this run", judged[SCORE], judged.get("interval"))]
    known += [(RULES.get(name, name), rule[SCORE], None) for name, rule in judged["baselines"].items()]
    drawn = [whisker(name, share, interval) for name, share, interval in known if share is not None]
    st.echarts_chart(
        scores.whiskers(drawn, 100 / len(judged["actions"])),
        height=54 + 36 * len(drawn),
        key="scores",
        alt="Balanced accuracy of this run with its interval beside simple rules and chance, in percent",
    )


def whisker(name: str, share: float, interval: list[float] | None) -> scores.Whisker:
    low, high = interval or (share, share)
    return name, 100 * share, 100 * low, 100 * high


def answer(judged: dict[str, Any]) -> str:
    """The score in a sentence, beside the best rule it has to beat."""
    rules = [rule[SCORE] for rule in judged["baselines"].values() if rule[SCORE] is not None]
    said = (
        f"{within(judged[SCORE], judged.get('interval'))} balanced accuracy on {count(judged['samples'])} test samples"
    )
    return f"{said}; the best simple rule reaches {percent(max(rules))}" if rules else said


def facts(found: dict[str, Any]) -> dict[str, str]:
    samples, train, registered = found["samples"], found["train"], found["registered"]
    splits = samples["split"]
    counts = ", ".join(f"{splits[name]} {name}" for name in ("train", "validation", "test"))
    named = "simulated" in samples["dataset"].lower()
    simulated = " (simulated)" if samples["simulated"] and not named else ""
    aliases = " and ".join(registered["aliases"]) or "no alias" if registered else ""
    return {
        "Dataset": f"{samples['dataset']}{simulated}, version {short(samples['version'])}",
        "Samples": f"{count(samples['samples'])}: {counts}, {splits['purged']} purged",
        "Updates": f"{count(train['updates'])} in {train['epochs_run']} epochs, best epoch {train['best_epoch']}",
        "Model": f"{title(train['kind'], train['preset'])}, {count(train['parameters'])} parameters",
        "Weights": f"{size(found['weights_bytes'])}, sha256 {found['weights_sha256'][:12]}",
        "Checkpoint": checkpoint(train["checkpoint_bytes"]),
        "Registered": f"{registered['name']} version {registered['version']}, {aliases}" if registered else UNRECORDED,
        "Device": f"{train['device']}: {train['device_reason']}",
        "Peak memory": peak_memory(train.get("memory") or {}),
    }


def checkpoint(size_bytes: int | None) -> str:
    return MISSING if size_bytes is None else f"{size(size_bytes)} with the optimiser's state"


def peak_memory(memory: dict[str, Any]) -> str:
    """Predicted and measured, each under its own name; a run from before predictions has none."""
    if "predicted_bytes" not in memory:
        return MISSING
    predicted = f"{size(memory['predicted_bytes'])} predicted"
    if "measured_bytes" not in memory:
        return f"{predicted}, not measured on {memory['kind']}"
    return f"{predicted}, {size(memory['measured_bytes'])} measured, error {percent(abs(memory['error']))}"
