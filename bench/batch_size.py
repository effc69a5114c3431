"""Why batches of 5: the same data and network with batches of 1, 5 and 32 for an equal number of epochs.

`python -m bench.batch_size [--preset lite] [--epochs 8]` prints a table and writes `bench/batch_size.json`. The three
trainings take turns epoch by epoch, so that a busy moment of the machine slows all of them.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from bench.claims import THREADS, Claim, finish
from bench.samples import scaled
from model.presets import fitted, preset
from model.recipe import TrainConfig
from model.training import Training

SIZES = (1, 5, 32)
OUT = Path(__file__).with_suffix(".json")


@dataclass(kw_only=True)
class Row:
    """One batch size and what came of it."""

    batch: int
    training: Training
    seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    random: torch.Tensor = field(default_factory=torch.get_rng_state)

    def epoch(self) -> None:
        """One pass over the training samples and a validation; only the pass is timed."""
        torch.set_rng_state(self.random)
        started = time.perf_counter()
        for _ in self.training.epoch():
            pass
        self.seconds.append(time.perf_counter() - started)
        judged = self.training.end_epoch()
        assert judged is not None
        self.losses.append(judged["loss"])
        self.scores.append(judged["balanced_accuracy"])
        self.random = torch.get_rng_state()

    @property
    def best_epoch(self) -> int:
        return int(np.argmin(self.losses)) + 1

    def peak_bytes(self) -> int:
        return int(self.training.meter.measured()["measured_bytes"])

    def line(self) -> str:
        updates = self.training.updates
        numbers = f"{updates:>9}{updates * len(self.losses):>9}{np.median(self.seconds):>11.1f}"
        best = f"{min(self.losses):>11.3f}{self.best_epoch:>7}{100 * max(self.scores):>11.1f}"
        return f"{self.batch:>5}{numbers}{best}{self.peak_bytes() / 2**20:>10.0f}"


def measure(name: str, epochs: int, folder: Path) -> list[Row]:
    """A training a batch size, from the same weights, in turns."""
    samples = scaled()
    config = fitted(preset(name), samples)
    rows = []
    for batch in SIZES:
        recipe = TrainConfig(epochs=epochs, batch_size=batch, threads=THREADS, patience_epochs=epochs)
        rows.append(Row(batch=batch, training=Training(recipe, config, samples, folder / str(batch))))
    for number in range(epochs):
        for row in rows:
            row.epoch()
        print(f"epoch {number + 1} of {epochs}", flush=True)
    return rows


def claims(rows: list[Row]) -> list[Claim]:
    """Best validation loss and time of the small and the large batch beside those of 5."""
    one, five, many = rows
    found = []
    for other in (one, many):
        name = f"batch {other.batch} over batch 5"
        loss, time_ratio = min(other.losses) / min(five.losses), np.median(other.seconds) / np.median(five.seconds)
        found.append(Claim(what=f"best validation loss, {name}", value=float(loss), unit="x", goal=""))
        found.append(Claim(what=f"seconds an epoch, {name}", value=float(time_ratio), unit="x", goal=""))
        peak = other.peak_bytes() / five.peak_bytes()
        found.append(Claim(what=f"peak memory, {name}", value=peak, unit="x", goal=""))
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--preset", default="lite")
    asked.add_argument("--epochs", type=int, default=8)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(given.preset, given.epochs, Path(folder))
        print("      updates of                     validation               peak")
        print("batch  an epoch     all  s an epoch  best loss  epoch  balanced %    MiB")
        for row in rows:
            print(row.line())
        details = [
            {
                "batch": row.batch,
                "updates_an_epoch": row.training.updates,
                "seconds": row.seconds,
                "validation_losses": row.losses,
                "balanced_accuracy": row.scores,
                "peak_bytes": row.peak_bytes(),
            }
            for row in rows
        ]
        finish(OUT, claims(rows), {"preset": given.preset, "epochs": given.epochs, "rows": details})


if __name__ == "__main__":
    main()
