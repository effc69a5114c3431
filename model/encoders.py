"""What turns numbers into width-D vectors: candles, context features, places in time.

B batch, T streams, S candles, F features, D width.
"""

import itertools
import math

import torch
from torch import Tensor, nn

from model.presets import ModelConfig


def dense(*widths: int, dropout: float = 0.0, bias: bool = True, between: type[nn.Module] = nn.GELU) -> nn.Sequential:
    """Linear layers of the given widths with an activation (and dropout) between them."""
    modules: list[nn.Module] = []
    for i, (width_in, width_out) in enumerate(itertools.pairwise(widths)):
        if i:
            modules.append(between())
        if i and dropout:
            modules.append(nn.Dropout(dropout))
        modules.append(nn.Linear(width_in, width_out, bias=bias))
    return nn.Sequential(*modules)


class ChannelDropout(nn.Module):
    """Dropout of whole channels, one mask for all tokens of a row (Gal & Ghahramani 2016).

    Drawing one mask a row instead of one a token takes a tenth off a training step on the CPU.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """(N,Q,D); same shape."""
        if not (self.training and self.share):
            return x
        return x * nn.functional.dropout(x.new_ones(x.shape[0], 1, x.shape[2]), self.share)


class ContextEncoders(nn.Module):
    """Book, indicators, market and position, each brought to width D; their sum is the context of a sample."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.book = dense(config.cob_features, width, width)
        self.tech = dense(config.tech_features, width, width)
        self.market = dense(config.market_features, width, width)
        self.position = dense(config.position_features, width, width)

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The book of every candle (B,S,D) and the context at the decision (B,D)."""
        book = self.book(batch["cob_data"]) * present(batch["cob_data"])
        rest = self.tech(batch["tech_data"]) + self.market(batch["market_data"])
        return book, book[:, -1] + rest + self.position(batch["position_state"])


def time_waves(bars: int, width: int, device: torch.device) -> Tensor:
    """Sine and cosine of the distance to the last candle, so that any window length means the same; (bars, width).

    Vaswani et al. 2017, counted backwards from the decision.
    """
    distance = torch.arange(bars - 1, -1, -1, dtype=torch.float32, device=device)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float32, device=device) * (-math.log(1e4) / width))
    return torch.cat([torch.sin(distance * rate), torch.cos(distance * rate)], dim=1)


def present(values: Tensor) -> Tensor:
    """1 for each row that has a value, 0 for an all-zero row, which stands for no candle or no book; (…,1)."""
    return values.any(dim=-1, keepdim=True).to(values.dtype)
