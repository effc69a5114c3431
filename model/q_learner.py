"""The learner of action values: a network, the slower copy that its targets come from, and the memory of steps.

B batch, N steps of all episodes in a row.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import smooth_l1_loss

from model.device import Device
from model.dqn_recipe import DqnRecipe
from model.environment import OBSERVED, Trading
from model.kinds import NetworkConfig
from model.q_learning import taken, td_targets
from model.recipe import TrainConfig
from model.replay import Replay
from model.rollout import greedy, play
from model.stepper import Stepper, made

TARGET, MEMORY = "target.", "replay."


class QLearner(Stepper):
    """Learns from steps that are drawn from its memory."""

    def __init__(
        self,
        config: TrainConfig,
        model_config: NetworkConfig,
        device: Device,
        recipe: DqnRecipe,
        episodes: Mapping[str, np.ndarray],
    ) -> None:
        super().__init__(config, model_config, device)
        self.recipe, self.warnings, self.updates = recipe, list[str](), 0
        self.target = made(model_config, device).requires_grad_(False)
        self.target.load_state_dict(self.model.state_dict())
        self.seen = {name: torch.tensor(episodes[name], device=device.torch) for name in OBSERVED}
        self.replay = Replay(recipe.replay_capacity, config.seed)

    def update(self, batch: dict[str, Tensor], rate: float, share: float) -> dict[str, float]:
        """One step on drawn steps of the memory; loss, mean value of the actions taken, and norm of the gradient.

        Raises DivergedError before the optimiser moves.
        """
        self.begin(rate)
        loss, values = self.loss(batch)
        said = torch.stack([loss, values.mean()]).tolist()
        row = {"loss": said[0], "q_mean": said[1], **self.descend(loss, said[0], share)}
        self.updates += 1
        if self.updates % self.recipe.target_every == 0:
            self.target.load_state_dict(self.model.state_dict())
        return row

    def loss(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """How far the values of the actions taken are from their targets (Huber), and these values (B,)."""
        with torch.no_grad():
            after = self.target(self.observed(batch["row"] + 1, batch["next_position"]))["q_values"]
            targets = td_targets(batch["reward"], batch["terminated"], after, self.recipe.discount)
        values = taken(self.model(self.observed(batch["row"], batch["position"]))["q_values"], batch["action"])
        return smooth_l1_loss(values, targets), values

    def observed(self, rows: Tensor, positions: Tensor) -> dict[str, Tensor]:
        """The sample fields at the rows (B,) of the episodes with these positions (B,5)."""
        return {**{name: values[rows] for name, values in self.seen.items()}, "position_state": positions}

    def drawn(self, count: int) -> dict[str, Tensor]:
        """So many steps of the memory, on the device."""
        return {name: values.to(self.device.torch) for name, values in self.replay.draw(count).items()}

    def judge(self, env: Trading) -> dict[str, float]:
        """Loss over all steps that the policy takes in the episodes of an environment, and its mean return."""
        self.model.eval()
        own = Replay(int(env.episodes["length"][env.numbers].sum()), 0)
        earned = [play(env, number, greedy(self.model), own.add) for number in env.numbers]
        steps = {name: values[: len(own)].to(self.device.torch) for name, values in own.steps.items()}
        with torch.no_grad():
            loss, _ = self.loss(steps)
        return {"loss": float(loss), "episode_return": float(np.mean(earned))}

    def tensors(self) -> dict[str, Tensor]:
        """What is in memory besides the network and its optimiser."""
        target = {f"{TARGET}{name}": value for name, value in self.target.state_dict().items()}
        return {**self.seen, **target, **{f"{MEMORY}{name}": value for name, value in self.replay.steps.items()}}

    def optimizer_state(self) -> dict[str, Tensor]:
        """The optimiser's state, the target network and the memory, by name."""
        more = {name: value for name, value in self.tensors().items() if name not in self.seen}
        return {**super().optimizer_state(), **more}

    def restore(self, weights: dict[str, Tensor], optimizer: dict[str, Tensor], scaler: dict[str, Any]) -> None:
        """Go on from saved weights, optimiser state with target and memory, and scaler state."""
        self.target.load_state_dict(_under(TARGET, optimizer))
        self.replay.fill(_under(MEMORY, optimizer))
        plain = {name: value for name, value in optimizer.items() if not name.startswith((TARGET, MEMORY))}
        super().restore(weights, plain, scaler)


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
