"""Where a run can go on: the newest checkpoint that is its own."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from model import checkpoint
from model.checkpoint import Checkpoint
from model.dqn_recipe import DqnRecipe
from model.kinds import NetworkConfig
from model.progress import differences, digest, origin
from model.recipe import TrainConfig


def resume_point(
    checkpoints: Path, config: TrainConfig, model_config: NetworkConfig, samples: Mapping[str, np.ndarray]
) -> Checkpoint | None:
    """The newest checkpoint that exactly this run can go on from; None if there is none."""
    return newest_of(checkpoints, origin(config, model_config, samples))


def newest_of(checkpoints: Path, wanted: dict[str, Any]) -> Checkpoint | None:
    """The newest checkpoint of the run with this origin that training can go on from."""
    return next(usable(checkpoints, wanted), None)


def usable(checkpoints: Path, wanted: dict[str, Any]) -> Iterator[Checkpoint]:
    """The checkpoints of the run with this origin that training can go on from, newest first."""
    for entry in reversed(checkpoint.list_complete(checkpoints)):
        if entry.resumable and not differences(origin_of(entry), wanted):
            yield entry


def origin_of(entry: Checkpoint) -> dict[str, Any]:
    """What a checkpoint says of its run's configs and samples; empty where it says nothing of the kind."""
    found = checkpoint.state_of(entry.path).get("origin")
    return found if isinstance(found, dict) else {}


def dqn_origin(
    config: TrainConfig,
    model_config: NetworkConfig,
    samples: Mapping[str, np.ndarray],
    episodes: Mapping[str, np.ndarray],
    recipe: DqnRecipe,
) -> dict[str, Any]:
    """What must be the same for a run to go on: also the settings of the DQN and the episodes."""
    plain = origin(config, model_config, samples)
    more = {f"dqn.{name}": value for name, value in asdict(recipe).items()} | {"episodes": digest(episodes)}
    return {**plain, "train": {**plain["train"], **more}}
