"""How far a training run is: everything besides tensors that going on from a checkpoint needs."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch

from model.device import Device
from model.kinds import NetworkConfig
from model.presets import to_dict
from model.recipe import TrainConfig

# Settings that decide what is kept, not what is computed: a run may go on with other values.
FREE = ("keep_checkpoints", "checkpoint_every_updates", "checkpoint_every_s")


@dataclass(kw_only=True, slots=True)
class Progress:
    """Where a run stands between two updates, and what it has seen."""

    epoch: int = 0  # finished epochs
    batch: int = 0  # finished batches of the epoch that is running
    step: int = 0  # all batches so far
    skipped: int = 0  # of these, the ones that fp16 did not apply
    best_epoch: int | None = None
    best_step: int | None = None
    best_score: list[float] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)  # validation rows
    elapsed_s: float = 0.0

    def observe(self, row: dict[str, Any], score: list[float] | None) -> bool:
        """Take in the validation row of the epoch that just ended and its score; True if it is the best so far.

        Without a score the epoch does not compete.
        """
        self.history.append(row)
        if score is None or (self.best_score is not None and score <= self.best_score):
            return False
        self.best_epoch, self.best_step, self.best_score = self.epoch, self.step, score
        return True

    def patience_spent(self, patience_epochs: int) -> bool:
        """Whether so many epochs have ended since the best one."""
        return self.best_epoch is not None and self.epoch - self.best_epoch >= patience_epochs


def origin(config: TrainConfig, model_config: NetworkConfig, samples: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What must be the same for a run to go on: both configs and a hash of the samples."""
    train = {name: value for name, value in asdict(config).items() if name not in FREE}
    return {"model": to_dict(model_config), "train": train, "samples_sha256": digest(samples)}


def digest(samples: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over the names, types, shapes and bytes of all arrays."""
    total = hashlib.sha256()
    for name in sorted(samples):
        values = np.ascontiguousarray(samples[name])
        total.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        total.update(values.tobytes())
    return total.hexdigest()


def differences(saved: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """The fields in which two origins differ, such as `model.d_model is 192, expected 256`."""
    found = []
    for part in ("model", "train"):
        before, now = saved.get(part), wanted[part]
        before = before if isinstance(before, dict) else {}
        names = sorted(set(before) | set(now))
        found += [f"{part}.{n} is {before.get(n)}, expected {now.get(n)}" for n in names if before.get(n) != now.get(n)]
    if saved.get("samples_sha256") != wanted["samples_sha256"]:
        found.append("the samples are others")
    return found


def random_state(device: Device) -> dict[str, str]:
    """The state of the random generators that training draws from, as hex."""
    states = {"cpu": torch.get_rng_state()}
    if device.kind == "cuda":
        states["cuda"] = torch.cuda.get_rng_state()
    return {name: state.numpy().tobytes().hex() for name, state in states.items()}


def restore_random_state(states: Mapping[str, str]) -> None:
    """Put the generators back where `random_state` found them."""
    found = {name: torch.tensor(list(bytes.fromhex(text)), dtype=torch.uint8) for name, text in states.items()}
    torch.set_rng_state(found["cpu"])
    if "cuda" in found:
        torch.cuda.set_rng_state(found["cuda"])
