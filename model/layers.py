"""One transformer layer whose norms listen to the context.

N = B x T streams of the batch, Q tokens, K keys, D width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, silu

from model.attention import FeedForward, MultiScaleAttention
from model.presets import ModelConfig

Modulation = tuple[Tensor, Tensor]  # scale and shift of one norm, (N,1,D) each


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

    def modulation(self, context: Tensor) -> list[Modulation]:
        """A scale and a shift (N,1,D) for each norm, from the context (N,D)."""
        if not self.adaptive:
            return list(zip(self.scale, self.shift, strict=True))
        parts = self.modulate(silu(context))[:, None].chunk(2 * self.norms, dim=-1)
        return list(zip(parts[::2], parts[1::2], strict=True))

    def forward(self, x: Tensor, modulation: Modulation) -> Tensor:
        """Layer norm of the last axis, then scaled by 1 + scale and shifted."""
        scale, shift = modulation
        return torch.addcmul(shift, layer_norm(x, x.shape[-1:]), 1 + scale)


class Layer(nn.Module):
    """Multi-scale attention, then feed-forward, each after an adaptive norm.

    The two parts are called one by one, so that each can be recomputed by itself.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.norms = AdaptiveNorm(width, 2, config.adaptive_norm)
        self.attention = MultiScaleAttention(width, config.heads, config.scales, config.qkv_hidden, config.dropout)
        self.feed_forward = FeedForward(width, config.d_ff, config.dropout)

    def attend(self, state: Tensor, memories: Sequence[Tensor], modulation: Modulation) -> Tensor:
        """(N,Q,D) tokens and one (N,K,D) memory a scale; the new tokens."""
        read = [self.norms(memory, modulation) for memory in memories]
        return state + self.attention(self.norms(state, modulation), read)

    def feed(self, state: Tensor, modulation: Modulation) -> Tensor:
        """(N,Q,D) tokens, each by itself; the new tokens."""
        return state + self.feed_forward(self.norms(state, modulation))
