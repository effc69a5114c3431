"""The `evaluate` stage: the model is judged on the test split, beside rules that need no learning."""

import csv
from pathlib import Path

import numpy as np

from dataset.samples import load_samples
from flows.errors import stage_main
from flows.params import load_params
from flows.reports import write_report
from model.baselines import baselines
from model.batches import SPLITS
from model.interval import balanced_accuracy_interval
from model.losses import ACTIONS
from model.metrics import summary
from model.predictions import predict
from model.rollout import returns
from model.weights import load_model

OUT = Path("artifacts")


def main() -> None:
    """Reads model/ and samples.npz; writes evaluation.json and predictions.csv."""
    params = load_params(Path("params.yaml"))
    samples = load_samples(OUT / "samples.npz")
    model, config = load_model(OUT / "model")
    test = np.flatnonzero(samples["split"] == SPLITS["test"])
    if not len(test):
        raise ValueError(
            "the test split has 0 samples, expected at least 1; annotate more trades or lower the fractions"
        )
    chosen = {name: values[test] for name, values in samples.items()}
    answers = predict(model, chosen, params.evaluate.batch_size)
    judged = summary(chosen["actions"], answers["action"]) | {"baselines": baselines(samples)}
    judged["interval"] = balanced_accuracy_interval(np.array(judged["confusion"]))  # 95 %, of the balanced accuracy
    if config.kind == "dqn":
        episodes = load_samples(OUT / "episodes.npz")
        judged["episodes"] = returns(model, episodes, params.dqn.fee_bps, params.train.seed)
    write_report(OUT / "evaluation.json", judged)
    write_predictions(OUT / "predictions.csv", chosen, answers)


def write_predictions(path: Path, chosen: dict[str, np.ndarray], answers: dict[str, np.ndarray]) -> None:
    """A row a test sample: when it was decided, what was right, what was said and how surely."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["trade", "decision_time", "actual", "predicted", *(f"p_{name}" for name in ACTIONS)])
        for i, action in enumerate(chosen["actions"]):
            shares = [f"{value:.6f}" for value in answers["probabilities"][i]]
            said = ACTIONS[answers["action"][i]]
            writer.writerow([chosen["trade"][i], chosen["decision_time"][i], ACTIONS[action], said, *shares])


if __name__ == "__main__":
    stage_main(main)
