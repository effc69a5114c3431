"""The `train` stage: a network learns the training split; curves are written row by row."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from dataset.samples import load_samples
from flows.curves import JOURNAL, MEMORY, CurveWriter, publish
from flows.device_lock import device_lock
from flows.errors import stage_main
from flows.forecast import before, forecast, memory
from flows.params import Params, load_params, model_config
from flows.progress import duration
from flows.reports import write_report
from flows.resumption import starting_point
from flows.stop import Stop
from model.checkpoint import latest
from model.dqn_training import DqnTraining
from model.kinds import NetworkConfig
from model.learner import DivergedError
from model.plan import Plan
from model.presets import fitted
from model.size import size
from model.trainer import FitResult, run
from model.training import Training
from model.weights import save_model

OUT, CHECKPOINTS = Path("artifacts"), Path("checkpoints")
FIRST, PARTS = 3, 4  # memory is told after the first updates and so often an epoch


def main() -> None:
    """Reads samples.npz and scaler.json; writes model/, curves/ and train.json.

    Told to end, it leaves a checkpoint of that moment and no outputs.
    """
    stop = Stop()
    params = load_params(Path("params.yaml"))
    samples = load_samples(OUT / "samples.npz")
    config = fitted(model_config(params), samples)
    planned = forecast(params, config, samples, JOURNAL)
    print(before(params, planned), flush=True)
    with device_lock():
        training = training_of(params, config, samples)
        an_epoch = training.updates
        done = learn(training, params, stop)
    if done.ended == "asked":
        print(f"told to end: update {done.steps} is saved", flush=True)
        stop.leave()
    publish(JOURNAL, OUT / "curves")
    folder = save_model(OUT / "model", done.weights, config)
    (folder / "scaler.json").write_bytes((OUT / "scaler.json").read_bytes())
    for warning in done.warnings:
        print(f"note: {warning}", flush=True)
    write_report(OUT / "train.json", report(params, config, an_epoch, done, planned))


def learn(training: Training, params: Params, stop: Stop) -> FitResult:
    """The training from where it is to begin, its rows in the journal; a divergence leaves a gap there."""
    point = starting_point(training, JOURNAL)
    with closing(CurveWriter(JOURNAL)) as curves, stop.saving():
        log = logger(curves, training, params)
        try:
            return run(training, log=log, resume=point, should_stop=stop.asked, before_save=curves.sync)
        except DivergedError as error:
            at, elapsed_s = training.progress, training.elapsed_s()
            curves.write({"split": "train", "step": at.step + 1, "epoch": at.epoch + 1, "elapsed_s": elapsed_s})
            raise DivergedError(f"diverged: {error}") from None


def training_of(params: Params, config: NetworkConfig, samples: dict[str, np.ndarray]) -> Training:
    """A training of the kind that this network needs: on the samples, or in the market of the episodes."""
    if config.kind != "dqn":
        return Training(params.train, config, samples, CHECKPOINTS)
    episodes = load_samples(OUT / "episodes.npz")
    return DqnTraining(params.train, config, samples, CHECKPOINTS, episodes, params.dqn)


def logger(curves: CurveWriter, training: Training, params: Params) -> Callable[[dict[str, Any]], None]:
    """Writes every row to the curves, the memory now and then, and says a line an epoch."""
    an_epoch = training.updates
    steps = an_epoch * params.train.epochs

    def log(row: dict[str, Any]) -> None:
        if row["split"] != "train" or row["step"] <= FIRST or row["step"] % max(1, an_epoch // PARTS) == 0:
            place = {name: row[name] for name in ("step", "epoch", "elapsed_s")}
            curves.write({"split": MEMORY, **place, **training.footprint.now()})
        if row["split"] == "train":
            curves.write(row | {"steps": steps})
            if row["step"] % an_epoch == 0:
                print(epoch_line(row, steps, params.train.epochs), flush=True)
        else:
            curves.write(row)
            print(f"epoch {row['epoch']}: validation loss {row['loss']:.3f}, {score(row)}", flush=True)

    return log


def epoch_line(row: dict[str, Any], steps: int, epochs: int) -> str:
    left_s = row["elapsed_s"] / row["step"] * (steps - row["step"])
    ahead = f", about {duration(left_s)} left" if row["step"] < steps else ""
    return f"epoch {row['epoch']} of {epochs}: update {row['step']} of {steps}, training loss {row['loss']:.3f}{ahead}"


def score(row: dict[str, Any]) -> str:
    value = row["balanced_accuracy"]
    said = "no score: the split is empty" if value is None else f"balanced accuracy {100 * value:.1f} %"
    return f"{said}, {row['episode_return']:+.2f} % an episode" if "episode_return" in row else said


def report(params: Params, config: NetworkConfig, an_epoch: int, done: FitResult, planned: Plan) -> dict[str, Any]:
    """What train.json says of the training. Times and peaks are measured and differ from run to run."""
    return {
        "kind": params.model.kind,
        "preset": params.model.preset,
        "parameters": size(config).parameters,
        "updates_per_epoch": an_epoch,
        "updates": done.steps,
        "batch_size": done.batch_size,
        "epochs_run": done.epochs,
        "best_epoch": done.best_epoch,
        "best_step": done.best_step,
        "ended": done.ended,
        "device": f"{done.device.kind} ({done.device.name})",
        "device_reason": done.device.why,
        "threads": done.threads,
        "cpu_capability": done.cpu_capability,
        "memory": memory(planned, done.memory),
        "warnings": done.warnings,
        "elapsed_s": round(done.elapsed_s, 2),
        "checkpoint_bytes": checkpoint_bytes(),
    }


def checkpoint_bytes() -> int | None:
    """Size of the newest checkpoint, which carries the optimiser's state."""
    newest = latest(CHECKPOINTS)
    return newest.size_bytes if newest else None


if __name__ == "__main__":
    stage_main(main)
