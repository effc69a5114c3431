"""What a model answers for many samples, batch by batch.

M samples, T streams, L pivot levels.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from model.flat import OPTIONAL

INPUTS = ("price_data", "cob_data", "tech_data", "market_data", "position_state")


def inputs(fields: Mapping[str, object]) -> list[str]:
    """The names of the inputs that these samples hold: all that every sample has, and what some have."""
    return [*INPUTS, *(name for name in OPTIONAL if name in fields)]


def batch_outputs(model: nn.Module, fields: Mapping[str, Tensor], batch_size: int) -> Iterator[dict[str, Tensor]]:
    """The network's outputs for each batch in order, without dropout or gradients."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        for first in range(0, len(fields["price_data"]), batch_size):
            yield model({name: fields[name][first : first + batch_size] for name in inputs(fields)})
    model.train(was_training)


def predict(model: nn.Module, samples: Mapping[str, np.ndarray], batch_size: int = 32) -> dict[str, np.ndarray]:
    """Answers for SCALED sample arrays, on the CPU in fp32.

    `action` (M,) int64, `probabilities` (M,3), `confidence` and `trade_success` (M,1) as probabilities, `price` (M,1),
    `next_candles` (M,T,5), `pivots` (M,L,2), all float32. A head that the network does not have is absent.
    A network of action values answers them as `q_values` (M,3); it always takes the best, which has probability 1.
    """
    fields = {name: torch.tensor(samples[name], dtype=torch.float32) for name in inputs(samples)}
    parts = list(batch_outputs(model, fields, batch_size))
    if not parts:
        raise ValueError("the samples to predict are 0, expected at least 1")
    outputs = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    outputs |= {name: outputs[name].sigmoid() for name in ("confidence", "trade_success") if name in outputs}
    scores = outputs["q_values"] if "q_values" in outputs else outputs.pop("action_logits")
    action = scores.argmax(dim=1)
    shares = one_hot(action, scores.shape[1]).float() if "q_values" in outputs else scores.softmax(dim=1)
    answers = {"action": action, "probabilities": shares, **outputs}
    return {name: values.numpy() for name, values in answers.items()}
