"""One transformer layer whose norms listen to the context.

N = B x T streams of the batch, Q tokens, K keys, D width.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, silu

from model.attention import MultiScaleAttention
from model.encoders import ChannelDropout, dense
from model.presets import ModelConfig


class AdaptiveNorm(nn.Module):
    """Layer norm whose scale and shift come from the context (adaLN of DiT, Peebles & Xie 2023).

    Starts as a plain norm. Without `adaptive` the scale and shift are weights of their own.
    """

    def __init__(self, width: int, norms: int, adaptive: bool) -> None:
        super().__init__()
        self.norms, self.adaptive = norms, adaptive
        if adaptive:
            self.modulate = nn.Linear(width, 2 * norms * width)
            nn.init.zeros_(self.modulate.weight)
            nn.init.zeros_(self.modulate.bias)
        else:
            self.scale = nn.Parameter(torch.zeros(norms, width))
            self.shift = nn.Parameter(torch.zeros(norms, width))

    def modulation(self, context: Tensor) -> list[tuple[Tensor, Tensor]]:
        """A scale and a shift (N,1,D) for each norm, from the context (N,D)."""
        if not self.adaptive:
            return list(zip(self.scale, self.shift, strict=True))
        parts = self.modulate(silu(context))[:, None].chunk(2 * self.norms, dim=-1)
        return list(zip(parts[::2], parts[1::2], strict=True))


def modulated(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Layer norm of the last axis, then scaled by 1 + scale and shifted."""
    return torch.addcmul(shift, layer_norm(x, x.shape[-1:]), 1 + scale)


class Layer(nn.Module):
    """Multi-scale attention, then feed-forward, each after an adaptive norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.norms = AdaptiveNorm(width, 2, config.adaptive_norm)
        self.attention = MultiScaleAttention(width, config.heads, config.scales, config.qkv_hidden)
        self.feed_forward = dense(width, config.d_ff, width, between=nn.ReLU)
        self.dropout = ChannelDropout(config.dropout)

    def forward(self, state: Tensor, memories: list[Tensor], context: Tensor) -> Tensor:
        """(N,Q,D) tokens, one (N,K,D) memory a scale, (N,D) context; the new (N,Q,D) tokens."""
        first, second = self.norms.modulation(context)
        read = [modulated(memory, *first) for memory in memories]
        state = state + self.dropout(self.attention(modulated(state, *first), read))
        return state + self.dropout(self.feed_forward(modulated(state, *second)))
