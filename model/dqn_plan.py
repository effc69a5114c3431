"""What the training of a DQN will need: memory, by its real update and judgement on fake tensors, and disk."""

from collections.abc import Mapping

import numpy as np
import torch

from model.dqn_presets import DqnConfig
from model.dqn_recipe import DqnRecipe
from model.ledger import Ledger, ledger_of
from model.plan import Plan, planned
from model.q_learner import QLearner
from model.recipe import TrainConfig
from model.rehearsal import DEVICE, blank, faking
from model.replay import Replay
from model.rollout import episodes_of
from model.size import size


def plan_dqn(
    config: TrainConfig,
    model_config: DqnConfig,
    recipe: DqnRecipe,
    episodes: Mapping[str, np.ndarray],
    samples: tuple[int, int],
) -> Plan:
    """The memory plan of one run in these episodes, with so many training and validation samples on the device."""
    with faking():
        update, judged = rehearse_dqn(config, model_config, recipe, episodes, samples)
    return planned(model_config, config, recipe.replay_batch, samples, update, judged)


def rehearse_dqn(
    config: TrainConfig,
    model_config: DqnConfig,
    recipe: DqnRecipe,
    episodes: Mapping[str, np.ndarray],
    samples: tuple[int, int],
) -> list[Ledger]:
    """Ledgers of a steady update and of the loss over all validation steps, which needs most of a judgement."""
    learner = QLearner(config, model_config, DEVICE, recipe, episodes)
    present = [*(blank(model_config, count) for count in samples), learner.tensors()]
    for _ in range(2):
        with ledger_of(learner, *present) as update:
            learner.update(Replay(recipe.replay_batch, 0).steps, config.learning_rate, 1.0)
    steps = int((episodes["length"][episodes_of(episodes, "validation")]).sum())
    with ledger_of(learner, *present) as judged, torch.no_grad():
        if steps:
            learner.loss(Replay(steps, 0).steps)
    return [update, judged]


def checkpoint_bytes(config: DqnConfig, recipe: DqnRecipe) -> int:
    """The tensors of one checkpoint: as of every network, and the target network and the memory of steps besides."""
    counted = size(config)
    step = sum(values.nbytes for values in Replay(1, 0).steps.values())
    return counted.checkpoint_bytes + counted.fp32_bytes + step * recipe.replay_capacity
