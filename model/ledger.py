"""Which tensor bytes are alive, and what for. Real and fake tensors are counted by the same few lines."""

import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from model.stepper import Stepper

# Activations are what a forward pass makes (or makes again, under checkpointing); transient is what only a backward
# pass, a step of the optimiser or an evaluation needs.
PARTS = ("weights", "gradients", "optimizer_state", "inputs", "activations", "transient")


class Ledger(TorchDispatchMode):
    """Books every tensor storage that is made while it is on; scratch inside one kernel is not seen.

    `peak` holds the bytes of each part at the moment when most were alive; `most` the most of each part at any moment.
    """

    def __init__(self, present: Mapping[str, Iterable[Tensor]], parameters: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self.live = dict.fromkeys(PARTS, 0)
        self.peak, self.most = dict(self.live), dict(self.live)
        self.peak_bytes = 0
        self._books: dict[int, tuple[str, int]] = {}  # storage -> its part and bytes
        self._parameters, self._hooks = list(parameters), []  # type: ignore[var-annotated]
        for part, tensors in present.items():
            for tensor in tensors:
                self._add(tensor, part)

    def __enter__(self) -> Self:
        self._hooks = [p.register_post_accumulate_grad_hook(self._is_gradient) for p in self._parameters]
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for hook in self._hooks:
            hook.remove()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        part = "activations" if torch.is_grad_enabled() else "transient"
        for value in tree_iter(result):
            if isinstance(value, Tensor):
                self._add(value, part)
        return result

    def _add(self, tensor: Tensor, part: str) -> None:
        storage = tensor.untyped_storage()
        key, nbytes = storage._cdata, storage.nbytes()
        if key in self._books:
            return
        self._books[key] = (part, nbytes)
        self.live[part] += nbytes
        weakref.finalize(storage, self._drop, key)
        self.most[part] = max(self.most[part], self.live[part])
        total = sum(self.live.values())
        if total > self.peak_bytes:
            self.peak, self.peak_bytes = dict(self.live), total

    def _drop(self, key: int) -> None:
        part, nbytes = self._books.pop(key)
        self.live[part] -= nbytes

    def _is_gradient(self, parameter: Tensor) -> None:
        """Moves what the backward pass has just stored as a gradient to its own part."""
        assert parameter.grad is not None
        key = parameter.grad.untyped_storage()._cdata
        part, nbytes = self._books[key]
        self._books[key] = ("gradients", nbytes)
        self.live[part] -= nbytes
        self.live["gradients"] += nbytes


def ledger_of(learner: Stepper, *samples: Mapping[str, Tensor]) -> Ledger:
    """A ledger that knows what is in memory before an update: weights, gradients, optimiser state and samples."""
    weights = list(learner.model.parameters())
    return Ledger(
        {
            "weights": [*weights, *learner.model.buffers()],
            "gradients": [p.grad for p in weights if p.grad is not None],
            "optimizer_state": [value for state in learner.optimizer.state.values() for value in state.values()],
            "inputs": [value for fields in samples for value in fields.values()],
        },
        weights,
    )
