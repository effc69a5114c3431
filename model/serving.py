"""A model that answers: weights, config and scaler from one folder, raw sample fields in, an action out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dataset import scaler
from model.losses import ACTIONS
from model.predictions import INPUTS, inputs, predict
from model.weights import load_model

SCALER = "scaler.json"


class Predictor:
    """Answers for unscaled samples. Reads safetensors and JSON alone, so that loading runs no code of the folder."""

    def __init__(self, folder: Path) -> None:
        """Raises ValueError if the folder holds no model, or no scaler beside it."""
        path = folder / SCALER
        if not path.is_file():
            raise ValueError(f"{path} is missing, expected the scaler that the model was trained with")
        self.model, self.config = load_model(folder)
        self.scaler = scaler.from_json(path.read_text("utf-8"))

    def predict(self, samples: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Answers for unscaled sample arrays, a row a sample.

        `action` is a list of hold, buy and sell; `probabilities` (M,3) are in that order; the others as
        `model.predictions.predict` gives them. Raises ValueError for a field that is missing or has another shape.
        """
        missing = [name for name in INPUTS if name not in samples]
        if missing:
            raise ValueError(f"the request lacks {', '.join(missing)}; expected {', '.join(INPUTS)}")
        raw = {name: np.asarray(samples[name]) for name in inputs(samples)}
        answers = predict(self.model, self.scaler.apply(raw))
        return {**answers, "action": [ACTIONS[number] for number in answers["action"]]}
