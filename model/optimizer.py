"""AdamW, its learning rate over a run, and its state as plain tensors."""

import math

import torch
from torch import Tensor, nn

from model.recipe import TrainConfig


def adamw(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """AdamW that decays matrices only; fused, which is the fastest form on CPU and GPU."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)


def rate(update: int, updates: int, config: TrainConfig) -> float:
    """Learning rate of the `update`-th of all `updates` (from 0): linear warm-up, then half a cosine towards zero."""
    warmup = max(1, round(updates * config.warmup_fraction))
    if update < warmup:
        return config.learning_rate * (update + 1) / warmup
    done = (update - warmup) / max(1, updates - warmup)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


def set_rate(optimizer: torch.optim.Optimizer, value: float) -> None:
    """The learning rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = value


def flat_state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state with names such as `exp_avg.layers.0.…`, for a safetensors file."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{key}.{names[parameter]}": value.detach().cpu().contiguous()
        for parameter, values in optimizer.state.items()
        for key, value in values.items()
    }


def load_flat_state(model: nn.Module, optimizer: torch.optim.Optimizer, flat: dict[str, Tensor]) -> None:
    """Put back what `flat_state` took."""
    parameters = dict(model.named_parameters())
    for entry, value in flat.items():
        key, _, name = entry.partition(".")
        parameter = parameters[name]
        optimizer.state[parameter][key] = value.clone().to(parameter.device)
