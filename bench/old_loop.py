"""The training loop that people wrote before: samples converted one by one, joined in Python, plain AdamW, fp32."""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from model.learner import Learner

CLIP_NORM = 1.0


def train(learner: Learner, samples: dict[str, np.ndarray], batch: int, updates: int) -> list[float]:
    """The moments at which its updates ended, in seconds of the performance counter."""
    optimizer = torch.optim.AdamW(learner.model.parameters(), lr=1e-4, foreach=False, fused=False)
    learner.model.train()
    stamps = [time.perf_counter()]
    for _ in range(updates):
        rows = joined([converted(samples, row) for row in range(batch)])
        optimizer.zero_grad(set_to_none=False)
        losses = learner.losses(rows)
        losses["loss"].backward()
        nn.utils.clip_grad_norm_(learner.model.parameters(), CLIP_NORM)
        optimizer.step()
        for value in losses.values():
            value.item()
        stamps.append(time.perf_counter())
    return stamps


def converted(samples: dict[str, np.ndarray], row: int) -> dict[str, Tensor]:
    """One sample as tensors with a batch of one, by way of Python lists."""
    kinds: dict[bool, Callable[..., Tensor]] = {True: torch.LongTensor, False: torch.FloatTensor}
    return {name: kinds[name == "actions"](values[row : row + 1].tolist()) for name, values in samples.items()}


def joined(rows: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Samples as one batch, concatenated field by field."""
    return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}
