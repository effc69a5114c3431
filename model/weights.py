"""A finished model as a folder: weights.safetensors and, beside it, the config that built it."""

from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from model import files
from model.content import as_json, read_json, sha256
from model.kinds import NetworkConfig, from_dict
from model.networks import build
from model.presets import to_dict

__all__ = ["CONFIG", "WEIGHTS", "fill", "load_model", "pack", "save_model", "sha256", "unpack"]

WEIGHTS, CONFIG = "weights.safetensors", "config.json"


def save_model(folder: Path, model: nn.Module | dict[str, Tensor], config: NetworkConfig) -> Path:
    """Write a model (or its weights by name); equal weights give equal bytes, whenever they are written."""
    files.make_folder(folder)
    files.write(folder / WEIGHTS, pack(model.state_dict() if isinstance(model, nn.Module) else model))
    files.write(folder / CONFIG, as_json(to_dict(config)))
    return folder


def load_model(folder: Path) -> tuple[nn.Module, NetworkConfig]:
    """The model of a folder, on the CPU, ready to predict.

    Raises ValueError if the folder holds no model, or weights that do not fit its config.
    """
    config = from_dict(read_json(folder / CONFIG))
    with torch.device("meta"):
        model = build(config)
    fill(model, unpack(folder / WEIGHTS), folder / WEIGHTS)
    return model.eval(), config


def fill(model: nn.Module, weights: dict[str, Tensor], source: Path) -> None:
    """Give a model its weights; a model on the meta device takes the tensors as they are.

    Raises ValueError naming the first tensor that differs.
    """
    wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise ValueError(f"{source}: {name} has the shape {found.get(name)}, expected {wanted.get(name)}")
    model.load_state_dict(weights, assign=any(value.is_meta for value in model.parameters()))


def pack(tensors: dict[str, Tensor]) -> bytes:
    """Tensors as the bytes of a safetensors file, in an order that depends on their names alone."""
    plain = {name: value.detach().cpu().contiguous() for name, value in sorted(tensors.items())}
    return safetensors.torch.save(plain)


def unpack(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file.

    Raises ValueError if it is missing or is not one.
    """
    if path.is_symlink() or not path.is_file():
        raise ValueError(f"{path}: expected a safetensors file, found none")
    try:
        return safetensors.torch.load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path}: not a safetensors file ({error})") from None
