"""The multi-timeframe transformer.

B batch, T streams, N = B x T, S candles, Q tokens of a stream, K keys, G groups of candles, D width.

Every candle is encoded by itself. The layers then work on tokens that stand for `token_bars` bars each, and in every
layer each token reads the candles again at several scales. All scales hold about as many keys, so the fine ones see
the near past in detail and the coarse ones the whole window. All outputs are read at the last token.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint

from model.attention import CrossTimeframe
from model.encoders import ContextEncoders, dense, present, time_waves
from model.heads import Heads
from model.layers import AdaptiveNorm, Layer
from model.pooling import group_means, scale_means, token_of_candle
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
        prices = batch["price_data"]  # (B,T,S,5)
        b, t, bars, _ = prices.shape
        book, context = self.context(batch)  # (B,S,D), (B,D)
        tokens = group_means(bars, self.config.token_bars, bars, prices.device)  # (Q,S)
        scales = scale_means(bars, self.config.scales, len(tokens), prices.device)  # (K,S) a scale
        pooled = self._pooled_candles(prices, book, torch.cat([*scales, tokens]))
        *candles, state = (part.flatten(0, 1) for part in pooled.split([len(means) for means in (*scales, tokens)], 2))
        state = self._crossed(state.unflatten(0, (b, t))).flatten(0, 1)  # (N,Q,D)
        owners = token_of_candle(bars, self.config.token_bars, prices.device)  # (S,Q)
        per_stream = context.repeat_interleave(t, dim=0)  # (N,D)
        state = self._read(state, candles, [means @ owners for means in scales], per_stream)
        streams = self.final_norm(state[:, -1:], self.final_norm.modulation(per_stream)[0]).view(b, t, -1)
        return self.heads(streams[:, 0] + context, streams)

    def _pooled_candles(self, prices: Tensor, book: Tensor, means: Tensor) -> Tensor:
        """Every candle (B,T,S,5) as a vector, averaged by the rows of `means` (G,S); (B,T,G,D).

        It knows its stream, its age and, on the primary stream, its book (B,S,D).
        """
        waves = time_waves(means.shape[1], self.config.d_model, prices.device)
        candles = means @ (self.pattern_encoder(prices) * present(prices))
        beside = pad((means @ book)[:, None], (0, 0, 0, 0, 0, prices.shape[1] - 1))
        return candles + beside + (self.stream_embedding + means @ waves)

    def _crossed(self, state: Tensor) -> Tensor:
        """The tokens (B,T,Q,D) after every one of them has seen those of all streams."""
        row = state.flatten(1, 2)
        for cross in cast("Iterable[CrossTimeframe]", self.cross):
            row = self._run(cross.attend, row)
            row = self._run(cross.feed, row)
        return row.view_as(state)

    def _read(self, state: Tensor, candles: list[Tensor], shares: list[Tensor], context: Tensor) -> Tensor:
        """The tokens (N,Q,D) after all layers, or only the last of them: nothing reads the others any more.

        The candles (N,K,D) of a scale are read together with what their tokens have come to know, by `shares` (K,Q).
        """
        for i, layer in enumerate(cast("Iterable[Layer]", self.layers)):
            first, second = layer.norms.modulation(context)
            memories = [
                torch.baddbmm(pooled, share.expand(len(state), -1, -1), state)
                for pooled, share in zip(candles, shares, strict=True)
            ]
            if i == len(self.layers) - 1:
                state = state[:, -1:]
            state = self._run(layer.attend, state, memories, first)
            state = self._run(layer.feed, state, second)
        return state

    def _run(self, part: Callable[..., Tensor], *inputs: Any) -> Tensor:
        """One part of a layer, its activations recomputed in the backward pass if checkpointing is on."""
        if self.checkpointing and self.training:
            recomputed: Tensor = checkpoint(part, *inputs, use_reentrant=False)
            return recomputed
        return part(*inputs)

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
