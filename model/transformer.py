"""The multi-timeframe transformer.

B batch, T streams, N = B x T, S candles, Q tokens of a stream, K keys of a scale, D width.

Every candle is encoded by itself. The layers then work on tokens that stand for `token_bars` bars each, and in every
layer each token reads the candles again at several scales. All scales hold about as many keys, so the fine ones see
the near past in detail and the coarse ones the whole window. All outputs are read at the last token.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint

from model.attention import CrossTimeframe
from model.encoders import ContextEncoders, dense, present, time_waves
from model.heads import Heads
from model.layers import AdaptiveNorm, Layer, modulated
from model.presets import ModelConfig

MAX_BARS = 600


class Transformer(nn.Module):
    """Candles of several streams, order book, indicators and position in; actions, prices and pivots out."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.config = config
        self.checkpointing = False  # a choice of the training run, not of the model
        self.pattern_encoder = dense(5, *config.pattern_hidden, width)
        self.stream_embedding = nn.Parameter(torch.randn(config.streams, 1, width) * 0.02)
        self.context = ContextEncoders(config)
        self.cross = nn.ModuleList(
            CrossTimeframe(width, config.heads, config.d_ff, config.dropout) for _ in range(config.cross_layers)
        )
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.final_norm = AdaptiveNorm(width, 1, config.adaptive_norm)
        self.heads = Heads(config)

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Outputs by name (see `Heads`) for sample fields by name; S may be anything up to 600.

        Raises ValueError if the sample fields do not fit the config.
        """
        self._refuse_other_shapes(batch)
        book, context = self.context(batch)
        candles = self._candles(batch["price_data"], book)
        state = pooled(candles, self.config.token_bars)  # (B,T,Q,D)
        streams = self._streams(candles, state, context)  # (B,T,D)
        summary = streams[:, 0] + context
        return self.heads(summary, streams)

    def _candles(self, prices: Tensor, book: Tensor) -> Tensor:
        """Every candle (B,T,S,5) as a vector that knows its stream, its age and, on the primary stream, its book."""
        bars = prices.shape[2]
        waves = time_waves(bars, self.config.d_model, prices.device)
        candles = self.pattern_encoder(prices) * present(prices) + (self.stream_embedding + waves)
        book = pad(book[:, None], (0, 0, 0, 0, 0, prices.shape[1] - 1))
        return whole_tokens(candles + book, self.config.token_bars)

    def _streams(self, candles: Tensor, state: Tensor, context: Tensor) -> Tensor:
        """What each stream knows at its last token, after all layers; (B,T,D)."""
        b, t, q, _ = state.shape
        state = state.flatten(1, 2)
        for cross in self.cross:
            state = self._run(cross, state)  # (B, T x Q, D)
        state = state.view(b * t, q, -1)
        fine = [pooled(candles, scale, q).flatten(0, 1) for scale in self.config.scales]  # (N,K,D)
        shares = [
            token_shares(q, self.config.token_bars, scale, state) for scale in self.config.scales
        ]  # (B x T, K, Q)
        per_stream = context.repeat_interleave(t, dim=0)
        for i, layer in enumerate(self.layers):
            memories = [torch.baddbmm(candle, share, state) for candle, share in zip(fine, shares, strict=True)]
            if i == len(self.layers) - 1:
                state = state[:, -1:]  # nothing reads the other tokens any more
            state = self._run(layer, state, memories, per_stream)
        ((scale, shift),) = self.final_norm.modulation(per_stream)
        return modulated(state, scale, shift).view(b, t, -1)

    def _run(self, module: nn.Module, *inputs: Any) -> Tensor:
        """One module, its activations recomputed in the backward pass if checkpointing is on."""
        if self.checkpointing and self.training:
            recomputed: Tensor = checkpoint(module, *inputs, use_reentrant=False)
            return recomputed
        found: Tensor = module(*inputs)
        return found

    def _refuse_other_shapes(self, batch: dict[str, Tensor]) -> None:
        c, bars = self.config, batch["price_data"].shape[2]
        expected = {
            "price_data": (c.streams, bars, 5),
            "cob_data": (bars, c.cob_features),
            "tech_data": (c.tech_features,),
            "market_data": (c.market_features,),
            "position_state": (c.position_features,),
        }
        for name, shape in expected.items():
            if tuple(batch[name].shape[1:]) != shape:
                raise ValueError(f"{name} has the shape {tuple(batch[name].shape[1:])} a sample, expected {shape}")
        if not 1 <= bars <= MAX_BARS:
            raise ValueError(f"price_data has {bars} candles a stream, expected 1 to {MAX_BARS}")


def whole_tokens(candles: Tensor, token_bars: int) -> Tensor:
    """The candles (B,T,S,D), the oldest repeated in front until they fill whole tokens, so that none is left out."""
    missing = -candles.shape[2] % token_bars
    return torch.cat([candles[:, :, :1].expand(-1, -1, missing, -1), candles], dim=2) if missing else candles


def pooled(candles: Tensor, bars: int, most: int | None = None) -> Tensor:
    """Means over groups of `bars` candles counted from the newest, at most `most` groups; (B,T,K,D)."""
    count = candles.shape[2] // bars
    count = count if most is None else max(1, min(count, most))
    kept = candles[:, :, -count * bars :]
    return kept.unflatten(2, (-1, min(bars, kept.shape[2]))).mean(dim=3)


def token_shares(tokens: int, token_bars: int, scale: int, like: Tensor) -> Tensor:
    """How much of each token's bars lies in each group of `scale` bars: brings the tokens to that scale; (N,K,Q)."""
    owner = torch.eye(tokens, device=like.device, dtype=like.dtype).repeat_interleave(token_bars, dim=0)
    return pooled(owner[None, None], scale, tokens)[0].expand(like.shape[0], -1, -1)
