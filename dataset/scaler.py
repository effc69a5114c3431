"""The scaler: means and deviations of the training samples, kept as JSON beside the model.

Legend: B samples, T streams, S candles. What is absent (NaN) becomes 0, the mean, and is told by a mask.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataset.position import FLAGS

CLIP = 10.0  # deviations
FLAT = 1e-8  # a feature that varies less is not scaled

# The axes over which one mean is taken: a price has one for each stream and channel, other features one each.
AXES = {"price_data": (0, 2), "cob_data": (0, 1), "tech_data": (0,), "market_data": (0,), "position_state": (0,)}


@dataclass(frozen=True, slots=True, eq=False)
class Scaler:
    """Means and deviations of each field, fitted once and applied wherever the model is used."""

    mean: dict[str, np.ndarray]
    deviation: dict[str, np.ndarray]

    def apply(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """A copy with features and next_candles scaled to float32; other arrays stay as they are.

        Adds price_mask (B, T, S) and cob_mask (B, S), true where there is a candle and a book.
        Raises ValueError if a feature has another shape than the one that was fitted.
        """
        scaled = {name: self._scale(name, arrays[name]) for name in AXES}
        if "next_candles" in arrays:
            scaled["next_candles"] = self._following(arrays["next_candles"])
        masks = {
            "price_mask": ~np.isnan(arrays["price_data"][..., 0]),
            "cob_mask": ~np.isnan(arrays["cob_data"][..., 0]),
        }
        return {**arrays, **scaled, **masks}

    def following(self, scaled: np.ndarray) -> np.ndarray:
        """next_candles (B, T, 5) out of the scale of price_data, as a model answers them: log price, log1p volume."""
        mean, deviation = (part["price_data"][:, :, 0] for part in (self.mean, self.deviation))
        return scaled * deviation + mean

    def to_json(self) -> str:
        """The same text for the same numbers; from_json gives back the same bits."""
        parts = {name: {"mean": self.mean[name].tolist(), "deviation": self.deviation[name].tolist()} for name in AXES}
        return json.dumps(parts, indent=1, allow_nan=False) + "\n"

    def _scale(self, name: str, values: np.ndarray) -> np.ndarray:
        mean, deviation = self.mean[name], self.deviation[name]
        kept = [size for axis, size in enumerate(values.shape) if axis not in AXES[name]]
        if kept != list(mean.squeeze().shape):
            raise ValueError(f"{name} has shape {values.shape}, expected features of shape {mean.squeeze().shape}")
        return np.nan_to_num(np.clip((values - mean) / deviation, -CLIP, CLIP)).astype(np.float32)

    def _following(self, values: np.ndarray) -> np.ndarray:
        """next_candles (B, T, 5) in the scale of price_data; absent labels stay NaN."""
        mean, deviation = (part["price_data"][:, :, 0] for part in (self.mean, self.deviation))
        return np.clip((values - mean) / deviation, -CLIP, CLIP).astype(np.float32)


def fit(arrays: dict[str, np.ndarray], train_index: np.ndarray) -> Scaler:
    """A scaler of the samples in train_index, and of no other.

    Raises ValueError if there is none.
    """
    if not len(train_index):
        raise ValueError("there is no training sample, expected at least one to fit the scaler on")
    mean, deviation = {}, {}
    for name, axes in AXES.items():
        values = arrays[name][train_index].astype(np.float64)
        mean[name], deviation[name] = _mean_and_deviation(values, axes)
    # A flat position stays all zero, and flags stay flags.
    mean["position_state"][:] = 0
    deviation["position_state"][..., :FLAGS] = 1
    return Scaler(mean, deviation)


def from_json(text: str) -> Scaler:
    """Read what `Scaler.to_json` wrote.

    Raises ValueError if a field is missing or holds anything but numbers.
    """
    try:
        parts: dict[str, Any] = json.loads(text)
        mean, deviation = (
            {name: np.array(parts[name][part], np.float64) for name in AXES} for part in ("mean", "deviation")
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the scaler cannot be read: {error!r}") from None
    if any((~np.isfinite(mean[name])).any() or not (deviation[name] > 0).all() for name in AXES):
        raise ValueError("the scaler holds a mean that is not finite or a deviation that is not above 0")
    return Scaler(mean, deviation)


def _mean_and_deviation(values: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation over the axes, kept as size 1, of what is there; 1 as deviation where nothing varies."""
    there = ~np.isnan(values)
    count = np.maximum(there.sum(axis=axes, keepdims=True), 1)
    mean = np.where(there, values, 0).sum(axis=axes, keepdims=True) / count
    spread = np.sqrt((np.where(there, values - mean, 0) ** 2).sum(axis=axes, keepdims=True) / count)
    return mean, np.where(spread < FLAT, 1.0, spread)
