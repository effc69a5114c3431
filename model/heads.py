"""What the network says: one small head for each thing it predicts.

B batch, T streams, D width, L pivot levels.
"""

import torch
from torch import Tensor, nn

from model.encoders import dense
from model.presets import ModelConfig


class Heads(nn.Module):
    """Action, confidence, price and trade success of the sample; next candle of each stream; pivot of each level.

    Price and pivots are small numbers: the heads work in units of their usual size, which training sets and the weights
    file keeps, and answer in the labels' own units.
    """

    price_unit: Tensor
    pivot_unit: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, hidden, drop = config.d_model, config.head_hidden, config.dropout
        self.action = dense(width, *config.action_hidden, 3, dropout=drop)
        self.confidence = dense(width, *hidden, 1, dropout=drop)
        self.price = dense(width, *hidden, 1, dropout=drop)
        self.trade_success = dense(width, *hidden, 1, dropout=drop)
        self.next_candles = nn.ModuleList(dense(width, *hidden, 5, dropout=drop) for _ in range(config.streams))
        self.pivots = nn.ModuleList(dense(width, *hidden, 2, dropout=drop) for _ in config.pivot_levels)
        self.register_buffer("price_unit", torch.ones(1))
        self.register_buffer("pivot_unit", torch.ones(len(config.pivot_levels), 2))

    def forward(self, summary: Tensor, streams: Tensor) -> dict[str, Tensor]:
        """Outputs by name from the sample's summary (B,D) and its streams (B,T,D).

        Logits where a probability is meant.
        """
        candles = [head(streams[:, i]) for i, head in enumerate(self.next_candles)]
        return {
            "action_logits": self.action(summary),  # (B,3)
            "confidence": self.confidence(summary),  # (B,1) logit
            "price": self.price(summary) * self.price_unit,  # (B,1)
            "trade_success": self.trade_success(summary),  # (B,1) logit
            "next_candles": torch.stack(candles, dim=1),  # (B,T,5)
            "pivots": torch.stack([head(summary) for head in self.pivots], dim=1) * self.pivot_unit,  # (B,L,2)
        }
