"""A training run in miniature on fake tensors: the real code runs, nothing is allocated or computed.

Fake tensors have a shape, a type and a storage without bytes, so the ledger counts what the real ones would take.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from model.batches import take
from model.device import Device
from model.kinds import NetworkConfig
from model.learner import EVALUATION_BATCH, Learner
from model.ledger import Ledger, ledger_of
from model.predictions import batch_outputs
from model.recipe import TrainConfig

# What the CPU kernels save is counted: CUDA kernels are near, and a wheel without CUDA cannot fake them.
DEVICE = Device(kind="cpu", name="fake", why="nothing is allocated")


class StandIns(TorchDispatchMode):
    """Answers for the operations that ask for values, which a fake tensor has not: every number is 1."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:
            return 1.0
        if func is torch.ops.aten.bincount.default:
            return args[0].new_ones(args[2])  # of at least so many classes
        return func(*args, **(kwargs or {}))


@contextmanager
def faking() -> Iterator[None]:
    """Every tensor made inside is a fake one."""
    with FakeTensorMode(), StandIns():
        yield


def rehearse(config: TrainConfig, model_config: NetworkConfig, batch: int, train: int, validation: int) -> list[Ledger]:
    """Ledgers of a steady update and of a validation, for so many samples of each split on the device.

    Run it inside `faking()` to predict, outside to measure. The first update only makes the optimiser's state.
    """
    splits = [blank(model_config, train), blank(model_config, validation)]
    learner = Learner(config, model_config, DEVICE, splits[0])
    for _ in range(2):
        with ledger_of(learner, *splits) as update:
            learner.update(take(splits[0], torch.arange(batch)), config.learning_rate, 1.0)
    with ledger_of(learner, *splits) as judged:
        for _ in batch_outputs(learner.model, splits[1], EVALUATION_BATCH):
            pass
    return [update, judged]


def blank(config: NetworkConfig, samples: int) -> dict[str, Tensor]:
    """The fields of so many samples, all zero."""
    n, c = samples, config
    shapes = {
        "price_data": (n, c.streams, c.seq_len, 5),
        "cob_data": (n, c.seq_len, c.cob_features),
        "tech_data": (n, c.tech_features),
        "market_data": (n, c.market_features),
        "position_state": (n, c.position_features),
        "future_prices": (n,),
        "next_candles": (n, c.streams, 5),
        "pivots": (n, len(c.pivot_levels), 2),
        "trade_success": (n, 1),
    }
    fields = {name: torch.zeros(shape) for name, shape in shapes.items()}
    return fields | {"actions": torch.zeros(n, dtype=torch.int64)}
