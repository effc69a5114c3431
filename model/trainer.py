"""Training, as policy: when to step, log, judge, save and stop. It knows a log callback and a folder, no other tool."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from model.device import cpu_capability
from model.kinds import NetworkConfig
from model.learner import DivergedError
from model.recipe import TrainConfig
from model.result import FitResult
from model.resume import resume_point
from model.training import Training

__all__ = ["DivergedError", "FitResult", "TrainConfig", "fit", "resume_point"]


def fit(
    config: TrainConfig,
    model_config: NetworkConfig,
    samples: Mapping[str, np.ndarray],
    *,
    log: Callable[[dict[str, Any]], None],
    checkpoints: Path,
    resume: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> FitResult:
    """Train on the SCALED sample arrays (with `split`), from the start or from a checkpoint of the same run.

    `log` gets a row for every update and every validation. `should_stop` is asked after every update and ends the run
    once that moment is saved. Started anew, the run replaces what another one left in `checkpoints`.

    Raises ValueError for samples or a checkpoint that do not fit, DivergedError if the loss is no number any more,
    MemoryError (with the remedy as a note) if the device is too small, OSError if a checkpoint cannot be written.
    """
    training = Training(config, model_config, samples, checkpoints)
    return run(training, log=log, resume=resume, should_stop=should_stop)


def run(
    training: Training,
    *,
    log: Callable[[dict[str, Any]], None],
    resume: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    before_save: Callable[[], None] = lambda: None,
) -> FitResult:
    """Take a training of any kind from where it stands to its end; see `fit`.

    `before_save` is called before each checkpoint, so that what was logged is on the disk when the checkpoint is.
    """
    config = training.config
    if resume is not None:
        training.restore(resume)
    progress, ended = training.progress, "finished"
    while progress.epoch < config.epochs:
        if progress.patience_spent(config.patience_epochs):
            ended = "early"
            break
        for row in training.epoch():
            log(row)
            stopping = should_stop()
            if stopping or _due(config, training):
                before_save()
                training.save()
            if stopping:
                return _result(training, "asked")
        judged = training.end_epoch()
        if judged is not None:
            log(judged)
        before_save()
        training.save()
        if should_stop() and progress.epoch < config.epochs:
            return _result(training, "asked")
    return _result(training, ended)


def _due(config: TrainConfig, training: Training) -> bool:
    """Whether a checkpoint inside the epoch is due; at its end there is one anyway."""
    every, every_s, progress = config.checkpoint_every_updates, config.checkpoint_every_s, training.progress
    due = bool(every) and progress.step % every == 0
    late = bool(every_s) and training.since_save_s() >= every_s
    return (due or late) and progress.batch < training.updates


def _result(training: Training, ended: str) -> FitResult:
    progress = training.progress
    return FitResult(
        weights=training.learner.weights() if training.best is None else training.best,
        best_epoch=progress.best_epoch,
        best_step=progress.best_step,
        epochs=progress.epoch,
        steps=progress.step,
        skipped=progress.skipped,
        ended=ended,
        history=progress.history,
        samples={"train": training.count, "validation": len(training.validation["actions"])},
        batch_size=training.batch_size,
        device=training.device,
        threads=training.config.threads,
        cpu_capability=cpu_capability(),
        memory=training.meter.measured(),
        warnings=training.warnings,
        elapsed_s=training.elapsed_s(),
    )
