"""The training loops of Lightning and of Hugging Face around our network and losses, timed from update to update.

Both are bench-only: `pip install -e '.[bench]'`. Imported inside the functions, so that the other benches run without.
"""

import contextlib
import io
import logging
import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from model.learner import Learner


class Samples(Dataset[dict[str, Tensor]]):
    """Sample arrays a row at a time, as both trainers' data loaders ask for them."""

    def __init__(self, samples: dict[str, np.ndarray], count: int) -> None:
        self.fields = {name: torch.from_numpy(values) for name, values in samples.items()}
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {name: values[row % len(values)] for name, values in self.fields.items()}


def lightning(learner: Learner, samples: dict[str, np.ndarray], batch: int, updates: int) -> list[float]:
    """The moments at which the updates of Lightning's Trainer ended."""
    from lightning.pytorch import LightningModule, Trainer

    stamps: list[float] = []

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = learner.model

        def training_step(self, rows: dict[str, Tensor], _: int) -> Tensor:
            return learner.losses(rows)["loss"]

        def on_train_batch_end(self, *_: Any) -> None:
            stamps.append(time.perf_counter())

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.network.parameters(), lr=1e-4)

    with quiet(), tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            max_steps=updates,
            accelerator="cpu",
            gradient_clip_val=1.0,
            logger=False,
            default_root_dir=folder,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(Module(), DataLoader(Samples(samples, batch * (updates + 1)), batch_size=batch))
    return stamps


def hugging_face(learner: Learner, samples: dict[str, np.ndarray], batch: int, updates: int) -> list[float]:
    """The moments at which the updates of Hugging Face's Trainer ended."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    stamps: list[float] = []

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = learner.model

        def forward(self, **rows: Tensor) -> dict[str, Tensor]:
            return {"loss": learner.losses(rows)["loss"]}

    class Clock(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            stamps.append(time.perf_counter())

    with quiet(), tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder,
            max_steps=updates,
            per_device_train_batch_size=batch,
            use_cpu=True,
            learning_rate=1e-4,
            max_grad_norm=1.0,
            logging_strategy="no",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            remove_unused_columns=False,
            dataloader_pin_memory=False,
        )
        data = Samples(samples, batch * (updates + 1))
        Trainer(Network(), settings, train_dataset=data, callbacks=[Clock()]).train()
    return stamps


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the peers' banners, which would stand between the lines of the table."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
