"""The flat sample: all inputs of one sample in a row, 7,850 numbers with five streams and the usual features.

B batch, T streams, S candles, F numbers of a flat sample.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

BARS, CHANNELS = 300, 5  # candles a stream, the newest last; open, high, low, close, volume
INDICATORS = 100  # room for indicators, market and position
RECENT = 50  # room for the ten newest predictions: three probabilities, confidence and price of each
OPTIONAL = ("recent_predictions",)  # a field that samples may lack


def flat_size(streams: int, cob_features: int) -> int:
    """How many numbers a flat sample has: F."""
    return streams * BARS * CHANNELS + 2 * cob_features + INDICATORS + RECENT


def flat_sample(batch: dict[str, Tensor]) -> Tensor:
    """(B,F) candles stream by stream, newest book and mean book, indicators, recent predictions.

    Candles before a shorter window, unused room and recent predictions that are not there are zeros.
    Raises ValueError if indicators, market and position have no room.
    """
    prices = batch["price_data"][:, :, -BARS:]
    prices = pad(prices, (0, 0, BARS - prices.shape[2], 0))
    parts = (prices.flatten(1), book(batch["cob_data"]), indicators(batch), recent(batch))
    return torch.cat(parts, dim=1)


def book(cob_data: Tensor) -> Tensor:
    """(B,2F) the newest book of (B,S,F), then the mean of the window's books; an all-zero row is no book."""
    there = cob_data.any(dim=2).sum(dim=1, keepdim=True).clamp(min=1)
    return torch.cat([cob_data[:, -1], cob_data.sum(dim=1) / there], dim=1)


def indicators(batch: dict[str, Tensor]) -> Tensor:
    """(B,100) indicators, market and position, then zeros."""
    found = torch.cat([batch["tech_data"], batch["market_data"], batch["position_state"]], dim=1)
    if found.shape[1] > INDICATORS:
        raise ValueError(f"indicators, market and position have {found.shape[1]} features, expected {INDICATORS}")
    return pad(found, (0, INDICATORS - found.shape[1]))


def recent(batch: dict[str, Tensor]) -> Tensor:
    """(B,50) the newest predictions; zeros where the samples hold none."""
    return batch.get("recent_predictions", batch["tech_data"].new_zeros(len(batch["tech_data"]), RECENT))


def padding_notes(fields: dict[str, Tensor]) -> list[str]:
    """A sentence for each part of the flat sample that these sample fields leave at zero."""
    notes, bars = [], fields["price_data"].shape[2]
    if "recent_predictions" not in fields:
        notes.append(f"the samples hold no recent predictions: {RECENT} features of each flat sample are zero")
    if bars < BARS:
        notes.append(f"windows have {bars} candles: the {BARS - bars} places before them in the flat sample are zero")
    return notes
