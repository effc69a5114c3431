"""Attention between tokens: over several scales of time, and between streams.

N = B x T streams of the batch, Q query tokens, K keys, D width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from model.encoders import ChannelDropout, dense


def attend(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    """Scaled dot-product attention of (N,Q,D) queries over (N,K,D) keys; (N,Q,D)."""
    split = [x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, key, value)]
    mix = plain_attention if query.is_cpu and query.dtype == torch.bfloat16 else scaled_dot_product_attention
    return mix(*split).transpose(1, 2).flatten(2)


def plain_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The same as two products and a softmax: in bf16 on the CPU the fused kernel's backward takes five times as long.

    (N,H,Q,W) queries, (N,H,K,W) keys and values; (N,H,Q,W).
    """
    weights = (query @ key.transpose(2, 3) * query.shape[3] ** -0.5).softmax(dim=3)
    return weights.to(value.dtype) @ value


class ScaleAttention(nn.Module):
    """Attention at one scale, with projections of its own."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        widths = (width, hidden, width) if hidden else (width, width)
        self.query, self.key, self.value = (dense(*widths, bias=False) for _ in range(3))
        self.heads = heads

    def forward(self, state: Tensor, memory: Tensor) -> Tensor:
        """(N,Q,D) tokens read (N,K,D) pooled candles; (N,Q,D)."""
        return attend(self.query(state), self.key(memory), self.value(memory), self.heads)


class MultiScaleAttention(nn.Module):
    """The same tokens read the candles at every scale; one linear fuses what they found."""

    def __init__(self, width: int, heads: int, scales: tuple[int, ...], hidden: int, dropout: float) -> None:
        super().__init__()
        self.scales = nn.ModuleList(ScaleAttention(width, heads, hidden) for _ in scales)
        self.dropout = ChannelDropout(dropout)
        self.fuse = nn.Linear(len(scales) * width, width)

    def forward(self, state: Tensor, memories: Sequence[Tensor]) -> Tensor:
        """(N,Q,D) tokens and one (N,K,D) memory a scale; (N,Q,D)."""
        found = [scale(state, memory) for scale, memory in zip(self.scales, memories, strict=True)]
        return self.fuse(self.dropout(torch.cat(found, dim=-1)))


class FeedForward(nn.Module):
    """Two linears with a ReLU between them, and dropout where recomputing it is cheapest: before the second."""

    def __init__(self, width: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, d_ff), nn.Linear(d_ff, width)
        self.dropout = ChannelDropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(N,Q,D); same shape."""
        return self.down(self.dropout(self.up(x).relu()))


class CrossTimeframe(nn.Module):
    """One pre-norm layer in which every token of every stream reads all the others.

    Tokens stand for several bars, so this costs a fraction of attention between all candles of all streams.
    """

    def __init__(self, width: int, heads: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm, self.feed_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = ChannelDropout(dropout)
        self.feed_forward = FeedForward(width, d_ff, dropout)
        self.heads = heads

    def attend(self, state: Tensor) -> Tensor:
        """(B, T x Q, D) tokens of all streams in a row, which read each other; the new tokens."""
        x = self.attention_norm(state)
        found = attend(self.query(x), self.key(x), self.value(x), self.heads)
        return state + self.out(self.dropout(found))

    def feed(self, state: Tensor) -> Tensor:
        """(B, T x Q, D) tokens, each by itself; the new tokens."""
        return state + self.feed_forward(self.feed_norm(state))
