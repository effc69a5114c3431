"""Which network a config asks for."""

from torch import Tensor, nn

from model.presets import ModelConfig
from model.transformer import Transformer


def build(config: ModelConfig) -> nn.Module:
    """A network with fresh weights on the current default device; its forward maps sample fields to named outputs."""
    networks = {"transformer": Transformer}
    return networks[config.kind](config)


def recompute(network: nn.Module, wanted: bool) -> None:
    """Turn gradient checkpointing on or off, in the networks that have it."""
    if isinstance(network, Transformer):
        network.checkpointing = wanted


def set_label_units(network: nn.Module, units: dict[str, Tensor]) -> None:
    """Tell a network how large its labels usually are, if it has heads that work in such units."""
    if isinstance(network, Transformer):
        network.heads.price_unit.copy_(units["price"])
        network.heads.pivot_unit.copy_(units["pivots"])
