"""Training of a DQN: an epoch acts once in every training episode, step by step, and learns between the steps."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from model.dqn_recipe import DqnRecipe
from model.environment import Trading
from model.kinds import NetworkConfig
from model.metrics import balanced_accuracy, confusion
from model.predictions import batch_outputs
from model.q_learner import QLearner
from model.q_learning import epsilon
from model.recipe import TrainConfig
from model.resume import dqn_origin
from model.rollout import advance, at_random, episodes_of, greedy
from model.training import Training

ASKED_AT_ONCE = 32


class DqnTraining(Training):
    """A market to act in, the policy that acts, and how far both are."""

    learner: QLearner

    def __init__(
        self,
        config: TrainConfig,
        model_config: NetworkConfig,
        samples: Mapping[str, np.ndarray],
        checkpoints: Path,
        episodes: Mapping[str, np.ndarray],
        recipe: DqnRecipe,
    ) -> None:
        if config.precision != "fp32":
            raise ValueError(f"precision is {config.precision}, expected fp32: a DQN trains in no other")
        self.recipe, self.episodes = recipe, episodes
        self.numbers = episodes_of(episodes, "train")
        if not self.numbers:
            raise ValueError("the training split has 0 episodes, expected at least 1")
        self.env = Trading(episodes, self.numbers, recipe.fee_bps)
        self.earned: float | None = None  # of the newest finished episode, in percent
        self.place = self.taken = 0  # episodes and steps of this epoch that are done
        self.playing = False
        self.random = np.random.default_rng([config.seed, 1])
        super().__init__(config, model_config, samples, checkpoints)
        self.origin = dqn_origin(config, model_config, samples, episodes, recipe)
        self.steps = int((episodes["length"][self.numbers] - 1).sum())
        self.batch_size, self.updates = recipe.replay_batch, updates_an_epoch(episodes, recipe)

    def make_learner(self, model_config: NetworkConfig) -> QLearner:
        """Learns from its memory, not from the samples."""
        return QLearner(self.config, model_config, self.device, self.recipe, self.episodes)

    def epoch(self) -> Iterator[dict[str, Any]]:
        """The updates that are left of the epoch; the policy acts between them."""
        if not self.learner.replay.added:
            self._fill()
        order = self._order(self.progress.epoch)
        while self.place < len(order):
            if not self.playing:
                self._enter(order[self.place])
            if self._act():
                self.place, self.playing = self.place + 1, False
            if self.taken % self.recipe.learn_every == 0:
                row = self.applied(lambda: self.learner.drawn(self.batch_size), self.batch_size)
                yield {**row, "epsilon": self.epsilon(), "episode_return": self.earned}
        self.place = self.taken = 0

    def epsilon(self) -> float:
        """The share of random actions now."""
        done = self.progress.epoch * self.steps + self.taken
        return epsilon(done, self.config.epochs * self.steps, self.recipe)

    def judge(self) -> dict[str, Any] | None:
        """Return and loss in the validation episodes, agreement with the annotator on the validation samples."""
        numbers = episodes_of(self.episodes, "validation")
        if not numbers:
            return None
        judged = self.learner.judge(Trading(self.episodes, numbers, self.recipe.fee_bps))
        return {**judged, "balanced_accuracy": self._agreement()}

    def score(self, row: dict[str, Any]) -> list[float] | None:
        """The better epoch earns more in the validation episodes; those in which epsilon still falls do not compete.

        What a policy that knows little yet earns in a handful of episodes is luck.
        """
        return [row["episode_return"]] if self.epsilon() <= self.recipe.epsilon_end + 1e-9 else None

    def more_state(self) -> dict[str, Any]:
        """Where the policy stands in the market, and its random numbers."""
        names = ("earned", "place", "taken", "playing")
        return {
            "walk": {name: getattr(self, name) for name in names},
            "env": self.env.state(),
            "exploring": self.random.bit_generator.state,
            "replay": self.learner.replay.state(),
        }

    def restore_more(self, state: dict[str, Any]) -> None:
        """Go on from what `more_state` told."""
        for name, value in state["walk"].items():
            setattr(self, name, value)
        self.env.restore(state["env"])
        self.random.bit_generator.state = state["exploring"]
        self.learner.replay.restore(state["replay"])
        self.learner.updates = self.progress.step

    def more_tensors(self) -> list[dict[str, Tensor]]:
        """The episodes, the target network and the memory."""
        return [self.learner.tensors()]

    def _fill(self) -> None:
        """The memory's first steps, all random."""
        chance, order = at_random(self.config.seed), self._order(-1)
        while self.learner.replay.added < self.recipe.replay_start:
            self._enter(order[self.place % len(order)])
            over = False
            while not over and self.learner.replay.added < self.recipe.replay_start:
                step, over = advance(self.env, chance(self.env.observation()))
                self.learner.replay.add(step)
            self.place += 1
        self.place, self.playing = 0, False

    def _order(self, epoch: int) -> list[int]:
        """The training episodes in the order of an epoch, which depends on seed and epoch alone."""
        shuffled = np.random.default_rng([self.config.seed, 4, epoch + 1]).permutation(self.numbers)
        return [int(number) for number in shuffled]

    def _enter(self, episode: int) -> None:
        self.env.reset(options={"episode": episode})
        self.playing = True

    def _act(self) -> bool:
        """One step, random with the share of `epsilon`; whether its episode is over."""
        if self.random.random() < self.epsilon():
            action = int(self.random.integers(3))
        else:
            self.learner.model.eval()
            action = greedy(self.learner.model)(self.env.observation())
        step, over = advance(self.env, action)
        self.learner.replay.add(step)
        self.taken += 1
        if over:
            self.earned = 100 * (self.env.equity - 1)
        return over

    def _agreement(self) -> float | None:
        answers = batch_outputs(self.learner.model, self.validation, ASKED_AT_ONCE)
        said = [outputs["q_values"].argmax(dim=1) for outputs in answers]
        if not said:
            return None
        actual = self.validation["actions"].cpu().numpy()
        return balanced_accuracy(confusion(actual, torch.cat(said).cpu().numpy()))


def updates_an_epoch(episodes: Mapping[str, np.ndarray], recipe: DqnRecipe) -> int:
    """Updates of a pass over all training episodes.

    Raises ValueError if there would be none.
    """
    steps = int((episodes["length"][episodes_of(episodes, "train")] - 1).sum())
    if steps < recipe.learn_every:
        raise ValueError(f"the training episodes have {steps} steps, expected at least {recipe.learn_every}")
    return steps // recipe.learn_every
