"""Which network a config asks for."""

from typing import Any

from torch import Tensor, nn

from model.cnn import Cnn
from model.dqn import Dqn
from model.flat import padding_notes
from model.kinds import NetworkConfig
from model.transformer import Transformer

NETWORKS: dict[str, Any] = {"transformer": Transformer, "cnn": Cnn, "dqn": Dqn}


def build(config: NetworkConfig) -> nn.Module:
    """A network with fresh weights on the current default device; its forward maps sample fields to named outputs.

    A network answers with the heads that it has; either `action_logits` or `q_values` is there always.
    """
    network: nn.Module = NETWORKS[config.kind](config)
    return network


def recompute(network: nn.Module, wanted: bool) -> None:
    """Turn gradient checkpointing on or off, in the networks that have it."""
    if isinstance(network, (Transformer, Cnn)):
        network.checkpointing = wanted


def set_label_units(network: nn.Module, units: dict[str, Tensor]) -> None:
    """Tell a network how large its labels usually are, if it has heads that work in such units."""
    if isinstance(network, Transformer):
        network.heads.price_unit.copy_(units["price"])
        network.heads.pivot_unit.copy_(units["pivots"])


def notes(network: nn.Module, fields: dict[str, Tensor]) -> list[str]:
    """A sentence for each input that the network has and these samples leave empty."""
    return padding_notes(fields) if isinstance(network, Cnn) else []
