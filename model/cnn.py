"""The convolutional network over the flat sample: three actions, nothing else.

B batch, T streams, F numbers of a flat sample, C channels, P places that are left of 300 candles, H hidden width.
"""

from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu
from torch.utils.checkpoint import checkpoint

from model.cnn_presets import CnnConfig
from model.encoders import dense
from model.flat import BARS, CHANNELS, flat_sample, flat_size


class Block(nn.Module):
    """One convolution that halves the candles, a norm of each sample by itself, GELU and dropout of whole channels.

    A batch norm would let the samples of a batch touch each other, and has nothing to average in a batch of one.
    """

    def __init__(self, channels: int, width: int, kernel_bars: int, dropout: float) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(channels, width, kernel_bars, stride=2, padding=kernel_bars // 2)
        self.norm = nn.GroupNorm(1, width)
        self.dropout = nn.Dropout1d(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B,C,P); (B,width,P/2), rounded up."""
        return self.dropout(gelu(self.norm(self.convolution(x))))


class Cnn(nn.Module):
    """All streams' channels through convolutions over time; book, indicators and predictions beside them."""

    def __init__(self, config: CnnConfig) -> None:
        super().__init__()
        self.config = config
        self.checkpointing = False  # a choice of the training run, not of the model
        self.size = flat_size(config.streams, config.cob_features)
        self.candles = config.streams * BARS * CHANNELS
        channels, places = config.streams * CHANNELS, BARS
        self.convolutions = nn.ModuleList()
        for width in config.widths:
            self.convolutions.append(Block(channels, width, config.kernel_bars, config.dropout))
            channels, places = width, (places + 1) // 2
        self.beside = dense(self.size - self.candles, config.hidden, config.hidden, dropout=config.dropout)
        self.join = nn.Linear(channels * places + config.hidden, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.action = nn.Linear(config.hidden, 3)

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """`action_logits` (B,3) for sample fields by name; windows of any length are cut or padded to 300 candles.

        Raises ValueError if the sample fields do not fit the config.
        """
        flat = flat_sample(batch)
        if flat.shape[1] != self.size:
            raise ValueError(f"the flat sample has {flat.shape[1]:,} numbers, expected {self.size:,}")
        return {"action_logits": self.logits(flat)}

    def logits(self, flat: Tensor) -> Tensor:
        """(B,3) for flat samples (B,F)."""
        streams = flat[:, : self.candles].unflatten(1, (self.config.streams, BARS, CHANNELS))
        x = streams.transpose(2, 3).flatten(1, 2)  # (B,T*5,300)
        for block in cast("Iterable[Block]", self.convolutions):
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointing and self.training else block(x)
        joined = torch.cat([x.flatten(1), self.beside(flat[:, self.candles :])], dim=1)
        return self.action(self.dropout(gelu(self.join(joined))))
