"""Candles averaged over groups of bars, as one matrix: one product brings a window to all scales.

Groups are counted from the newest candle, so that the last one always ends at the decision. The oldest group holds the
candles that are left. S candles, K groups, Q tokens.
"""

import torch
from torch import Tensor


def group_means(candles: int, bars: int, most: int, device: torch.device) -> Tensor:
    """Rows that average S candles in groups of `bars`, of which there are at most `most`, oldest first; (K,S)."""
    group = torch.arange(candles - 1, -1, -1, device=device) // bars  # 0 = newest
    count = min(most, -(-candles // bars))
    rows = (group == torch.arange(count - 1, -1, -1, device=device)[:, None]).float()
    return rows / rows.sum(dim=1, keepdim=True)


def scale_means(candles: int, scales: tuple[int, ...], most: int, device: torch.device) -> list[Tensor]:
    """The group means of every scale; each scale has at most `most` groups, so the finest sees the near past only."""
    return [group_means(candles, scale, most, device) for scale in scales]


def token_of_candle(candles: int, token_bars: int, device: torch.device) -> Tensor:
    """1 where a candle (row) belongs to a token (column); (S,Q)."""
    return (group_means(candles, token_bars, candles, device) > 0).float().T
