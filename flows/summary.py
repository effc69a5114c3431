"""What came of a run, in numbers for `run.json` and in words for people."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.output import table
from flows.reports import read_report
from model.amount import amount
from model.kinds import title

if TYPE_CHECKING:
    from flows.control import Service
    from flows.runview import RunView

SCORE = "balanced_accuracy"
RULES = {
    "majority": "always the commonest action",
    "prior": "drawn by frequency",
    "position": "from the position alone",
}
POLICIES = {"dqn": "the DQN", "random": "chance", "hold": "never trading"}
VERSION = ("name", "version", "aliases", "champion")
REPORTS = {"samples": "samples.json", "train": "train.json", "evaluation": "evaluation.json"}


def read(workspace: Path, name: str) -> dict[str, Any]:
    return read_report(workspace / "artifacts" / REPORTS[name])


def scores(workspace: Path) -> dict[str, float]:
    """The numbers of evaluation.json that MLflow keeps as metrics; what could not be computed is absent."""
    found = read(workspace, "evaluation")
    numbers = {f"test/{name}": value for name, value in found.items() if isinstance(value, int | float)}
    numbers |= {f"baseline/{name}": rule[SCORE] for name, rule in found["baselines"].items() if rule[SCORE] is not None}
    numbers |= {
        f"episodes/{split}/{policy}": row[policy]
        for split, row in found.get("episodes", {}).items()
        for policy in POLICIES
        if row[policy] is not None
    }
    memory = read(workspace, "train").get("memory") or {}
    return numbers | {
        f"memory/{name}": float(value) for name, value in memory.items() if isinstance(value, int | float)
    }


def lineage(workspace: Path) -> list[Path]:
    """Files that say what the run was made of."""
    inside = ["dvc.lock", "params.yaml", "data.dvc", "logs/run.log"] + [
        f"artifacts/{name}" for name in REPORTS.values()
    ]
    return [workspace / name for name in inside]


def result(workspace: Path, registered: dict[str, Any]) -> dict[str, Any]:
    """The run's result as `run.json` keeps it."""
    weights = workspace / "artifacts" / "model" / "weights.safetensors"
    return {
        **{name: read(workspace, name) for name in REPORTS},
        "weights_sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "weights_bytes": weights.stat().st_size,
        "registered": {name: registered[name] for name in VERSION} if "version" in registered else None,
        "mlflow_run_id": registered.get("mlflow_run_id"),
        "recorded": "version" in registered,
    }


def percent(value: float | None) -> str:
    return "not computable" if value is None else f"{100 * value:.1f} %"


def describe(run_id: str, found: dict[str, Any]) -> list[str]:
    """The summary a run ends with."""
    hints = [
        ("  make up", "the page, MLflow and Prefect on this machine"),
        ("  . .venv/bin/activate", "so that the commands below are found"),
        ("  pivotline run --set train.seed=8", "the same with another seed"),
        (f"  pivotline status {run_id}", "this run again"),
    ]
    return ["", *table([*data_rows(found), *model_rows(found), *score_rows(found)]), "", "What next:", *table(hints)]


def data_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    samples, train = found["samples"], found["train"]
    splits = samples["split"]
    simulated = " (simulated)" if samples["simulated"] else ""
    counts = ", ".join(f"{splits[name]} {name}" for name in ("train", "validation", "test"))
    updates = f"{train['updates_per_epoch']} an epoch, {train['updates']} in {train['epochs_run']} epochs"
    return [
        (
            "Dataset",
            f"{samples['dataset']}{simulated}, version {samples['version'][:12]}, {len(samples['trades'])} trades",
        ),
        ("Samples", f"{samples['samples']}: {counts}, {splits['purged']} purged between them"),
        ("Updates", f"{updates}, best epoch {train['best_epoch']}"),
    ]


def model_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    train = found["train"]
    return [
        ("Model", f"{title(train['kind'], train['preset'])}, {train['parameters']:,} parameters"),
        ("Weights", f"{amount(found['weights_bytes'])}, sha256 {found['weights_sha256'][:12]}"),
        ("Checkpoint", f"{amount(train['checkpoint_bytes'])} with the optimiser's state"),
        ("Device", f"{train['device']}: {train['device_reason']}"),
        ("Peak memory", peak_memory(train["memory"])),
    ]


def peak_memory(memory: dict[str, Any]) -> str:
    """Predicted and measured, each under its own name."""
    predicted, measured, error = (memory.get(name) for name in ("predicted_bytes", "measured_bytes", "error"))
    words = [
        "not predicted" if predicted is None else f"{amount(predicted)} predicted",
        f"not measured on {memory['kind']}" if measured is None else f"{amount(measured)} measured",
        *([] if error is None else [f"error {100 * abs(error):.1f} %"]),
    ]
    return ", ".join(words)


def score_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    judged = found["evaluation"]
    beside = [
        ("Baseline", f"{percent(rule[SCORE]):>7} {RULES.get(name, name)}") for name, rule in judged["baselines"].items()
    ]
    return [
        ("Score", score_words(judged)),
        *beside,
        *episode_rows(judged.get("episodes", {})),
        ("Registered", registered_words(found["registered"])),
    ]


def score_words(judged: dict[str, Any]) -> str:
    """The score with its 95 % interval, so that few samples are not taken for proof; older records have none."""
    said = f"{percent(judged[SCORE]):>7} balanced accuracy on {judged['samples']} test samples"
    low, high = judged.get("interval") or (None, None)
    return said if low is None else f"{said}, 95 % interval {100 * low:.1f} to {percent(high)}"


def registered_words(registered: dict[str, Any] | None) -> str:
    if registered is None:
        return "not yet: MLflow did not take it; `pivotline sync` registers it once MLflow answers"
    aliases = " and ".join(registered["aliases"])
    return f"{registered['name']} version {registered['version']} as {aliases}: {registered['champion']}"


def episode_rows(episodes: dict[str, Any]) -> list[tuple[str, str]]:
    """What a policy earned an episode, beside chance and idleness; nothing for other kinds of network."""
    return [
        ("Episodes", f"{row['episodes']:>4} {split}: " + ", ".join(f"{row[p]:+.2f} % {POLICIES[p]}" for p in POLICIES))
        for split, row in episodes.items()
        if row["episodes"]
    ]


def status_lines(services: "Sequence[Service]", views: "Sequence[RunView]") -> list[str]:
    lines = [f"{entry.name}: {entry.detail}" for entry in services]
    if not views:
        return [*lines, "No runs yet: `pivotline run` starts one here, `pivotline trigger` puts one into the queue."]
    rows = [
        ("run", "state", "model", "dataset", "score"),
        *(
            (
                entry.run_id,
                state_word(entry),
                title(entry.params["model"]["kind"], entry.params["model"]["preset"]),
                entry.dataset_version[:7],
                score_of(entry),
            )
            for entry in views
        ),
    ]
    return [*lines, *table(rows)]


def state_word(view: "RunView") -> str:
    if view.state != "queued":
        return view.state
    return f"queued, place {view.place}" + (f": {view.reason}" if view.reason else "")


def score_of(view: "RunView") -> str:
    return percent(view.result["evaluation"]["balanced_accuracy"]) if view.result else "—"


def run_lines(view: "RunView", newer_data: str | None = None) -> list[str]:
    lines = [f"{view.run_id}  {view.name}  {state_word(view)}" + (f": {view.message}" if view.message else "")]
    lines += table([(f"  {name}", state, detail) for name, state, detail in view.stages])
    if view.progress:
        lines.append(f"  epoch {view.progress.epoch} of {view.progress.epochs}, update {view.progress.step}")
    if newer_data:
        lines.append(f"  {newer_data}")
    return lines + (describe(view.run_id, view.result) if view.result else [])
