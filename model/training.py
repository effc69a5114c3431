"""One training run between its first and its last update: its parts, its position, and how both are saved."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from model import checkpoint
from model.batches import auto_size, epoch_batches, take, tensors, updates
from model.checkpoint import Checkpoint
from model.device import choose, pin
from model.kinds import NetworkConfig
from model.learner import DivergedError, Learner
from model.memory import Footprint, Meter
from model.optimizer import rate
from model.progress import Progress, differences, origin, random_state, restore_random_state
from model.recipe import TrainConfig
from model.retention import keep
from model.shortage import one_sentence


class Training:
    """A learner, its samples and its progress; `fit` says what happens when."""

    def __init__(
        self, config: TrainConfig, model_config: NetworkConfig, samples: Mapping[str, np.ndarray], checkpoints: Path
    ) -> None:
        self.config, self.checkpoints = config, checkpoints
        self.origin = origin(config, model_config, samples)
        self.device = choose(config.device)
        pin(config.threads, config.seed, self.device)
        self.footprint = Footprint(self.device)
        self.train = tensors(samples, "train", self.device.torch)
        self.validation = tensors(samples, "validation", self.device.torch)
        self.count = len(self.train["actions"])
        self.batch_size = auto_size(self.count) if isinstance(config.batch_size, str) else config.batch_size
        self.updates = updates(self.count, self.batch_size)
        with self._within_memory("making the model"):
            self.learner = self.make_learner(model_config)
        self.warnings = self.learner.warnings
        self.meter = Meter(self.device)
        self.progress = Progress()
        self.best: dict[str, Tensor] | None = None
        self.stale: list[Checkpoint] = checkpoint.list_complete(checkpoints)
        self.started = self.saved = time.monotonic()

    def make_learner(self, model_config: NetworkConfig) -> Any:
        """What learns, from which data and by which loss."""
        return Learner(self.config, model_config, self.device, self.train)

    def epoch(self) -> Iterator[dict[str, Any]]:
        """The updates that are left of the epoch, one at a time, each with its row for the log."""
        progress, seed = self.progress, self.config.seed
        for rows in epoch_batches(self.count, self.batch_size, seed, progress.epoch, progress.batch):
            yield self.update(rows)

    def update(self, rows: Tensor) -> dict[str, Any]:
        """One update on the given training samples; see `applied`."""
        return self.applied(lambda: take(self.train, rows), len(rows))

    def applied(self, batch: Callable[[], dict[str, Tensor]], samples: int) -> dict[str, Any]:
        """One update on the batch of so many samples that a call makes, and its row for the log.

        Raises DivergedError, with the weights as they were before the update, or MemoryError.
        """
        progress = self.progress
        lr = rate(progress.step - progress.skipped, self.updates * self.config.epochs, self.config)
        where = f"update {progress.step + 1} (epoch {progress.epoch + 1})"
        try:
            with self._within_memory(where), self._watching("update"):
                row = self.learner.update(batch(), lr, samples / self.batch_size)
        except DivergedError as error:
            raise DivergedError(f"training stopped at {where}: {error}; the checkpoints before it are kept") from None
        progress.step += 1
        progress.batch += 1
        progress.skipped += int(row.pop("skipped"))
        return {**self._head("train", progress.epoch + 1), **row, "lr": lr, "samples": samples}

    def end_epoch(self) -> dict[str, Any] | None:
        """Close the epoch and judge it; its row for the log, or None without validation samples."""
        self.progress.epoch, self.progress.batch = self.progress.epoch + 1, 0
        with self._within_memory(f"judging epoch {self.progress.epoch}"), self._watching("validation"):
            judged = self.judge()
        if judged is None:
            return None
        row = {**self._head("validation", self.progress.epoch), **judged}
        if self.progress.observe(row, self.score(row)):
            self.best = self.learner.weights()
        return row

    def judge(self) -> dict[str, Any] | None:
        """Losses and scores of the weights of this moment; None without validation samples."""
        return self.learner.evaluate(self.validation) if len(self.validation["actions"]) else None

    def score(self, row: dict[str, Any]) -> list[float] | None:
        """The better epoch has the higher balanced accuracy or, among equals, the lower action loss."""
        return [row["balanced_accuracy"], -row["action_loss"]]

    def save(self) -> Path:
        """Write a checkpoint of this moment; then remove what is no longer kept, and what another run left here."""
        self.progress.elapsed_s, self.started = self.elapsed_s(), time.monotonic()
        state = {
            "origin": self.origin,
            "progress": asdict(self.progress),
            "random": random_state(self.device),
            "scaler": self.learner.scaler.state_dict(),
            **self.more_state(),
        }
        learner = self.learner
        saved = checkpoint.save(
            self.checkpoints, self.progress.step, learner.weights(), learner.optimizer_state(), state
        )
        for entry in self.stale:
            if entry.path != saved and entry.path.exists():
                checkpoint.delete(entry.path)
        self.stale, self.saved = [], time.monotonic()
        keep(self.checkpoints, self.config.keep_checkpoints, self.progress.best_step)
        return saved

    def restore(self, path: Path) -> None:
        """Go on from a checkpoint, bit by bit.

        Raises ValueError if it is damaged, holds no optimiser state, or belongs to another run.
        """
        weights, optimizer, state = checkpoint.load(path)
        found = differences(state["origin"], self.origin)
        if found:
            raise ValueError(f"{path}: cannot go on from this checkpoint: {'; '.join(found)}")
        if optimizer is None:
            raise ValueError(f"{path}: cannot go on from this checkpoint: its optimiser state was dropped")
        self.learner.restore(weights, optimizer, state["scaler"])
        self.progress = Progress(**state["progress"])
        self.best = self._best_weights(weights)
        self.stale = []
        restore_random_state(state["random"])
        self.restore_more(state)

    def more_state(self) -> dict[str, Any]:
        """JSON values that a checkpoint of this kind of training holds besides."""
        return {}

    def restore_more(self, state: dict[str, Any]) -> None:
        """Go on from what `more_state` told."""

    def _best_weights(self, current: dict[str, Tensor]) -> dict[str, Tensor] | None:
        """The weights of the best epoch so far; if their checkpoint is gone, the search starts anew, with a warning."""
        progress = self.progress
        if progress.best_step is None or (progress.best_step == progress.step and not progress.batch):
            return current if progress.best_step is not None else None
        for entry in checkpoint.list_complete(self.checkpoints):
            if entry.step == progress.best_step:
                return checkpoint.load(entry.path)[0]
        self.warnings.append(
            f"the checkpoint of the best epoch ({progress.best_epoch}) is gone: later ones compete alone"
        )
        progress.best_epoch = progress.best_step = progress.best_score = None
        return None

    def elapsed_s(self) -> float:
        """Seconds of training so far, those before an interruption included."""
        return round(self.progress.elapsed_s + time.monotonic() - self.started, 3)

    def since_save_s(self) -> float:
        """Seconds since the newest checkpoint, or since the start."""
        return time.monotonic() - self.saved

    def _within_memory(self, where: str) -> AbstractContextManager[None]:
        return one_sentence(where, self.config, self.device, self.batch_size)

    def _watching(self, what: str) -> AbstractContextManager[None]:
        return self.meter.watching(what, self.learner, self.train, self.validation, *self.more_tensors())

    def more_tensors(self) -> list[dict[str, Tensor]]:
        """What this kind of training keeps in memory besides the samples."""
        return []

    def _head(self, split: str, epoch: int) -> dict[str, Any]:
        return {"split": split, "step": self.progress.step, "epoch": epoch, "elapsed_s": self.elapsed_s()}
