"""Which samples an update sees: seeded orders, whole epochs, nothing dropped."""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from model.flat import OPTIONAL

FIELDS = (
    "price_data",
    "cob_data",
    "tech_data",
    "market_data",
    "position_state",
    "actions",
    "future_prices",
    "next_candles",
    "pivots",
    "trade_success",
)
SPLITS = {"train": 0, "validation": 1, "test": 2}

# A split's number of samples below which a batch size is chosen, smallest first.
AUTO_SIZES = ((100, 1), (500, 5), (2000, 16))


def auto_size(samples: int) -> int:
    """A batch size for so many training samples."""
    return next((size for below, size in AUTO_SIZES if samples < below), 32)


def tensors(samples: Mapping[str, np.ndarray], split: str, device: torch.device) -> dict[str, Tensor]:
    """The sample fields of one split on the device."""
    rows = samples["split"] == SPLITS[split]
    names = [*FIELDS, *(name for name in OPTIONAL if name in samples)]
    return {name: torch.tensor(samples[name][rows], device=device) for name in names}


def updates(samples: int, batch_size: int) -> int:
    """Updates an epoch; a remainder makes one more.

    Raises ValueError if there would be none.
    """
    if samples < 1:
        raise ValueError("the training split has 0 samples, expected at least 1")
    return -(-samples // batch_size)


def epoch_batches(samples: int, batch_size: int, seed: int, epoch: int, start: int = 0) -> Iterator[Tensor]:
    """Row numbers of each batch of an epoch from its `start`-th on; the order depends on seed and epoch alone."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order = torch.randperm(samples, generator=generator)
    yield from order.split(batch_size)[start:]


def take(fields: dict[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    """The given rows of every field."""
    return {name: values[rows.to(values.device)] for name, values in fields.items()}
