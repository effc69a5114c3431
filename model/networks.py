"""Which network a config asks for."""

from torch import nn

from model.presets import ModelConfig
from model.transformer import Transformer


def build(config: ModelConfig) -> nn.Module:
    """A network with fresh weights on the current default device; its forward maps sample fields to named outputs."""
    networks = {"transformer": Transformer}
    return networks[config.kind](config)
