"""The market as an environment: one annotated episode, candle by candle, for a policy that buys and sells.

N steps of all episodes in a row; T streams, W candles seen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space

from dataset.position import flat, position_state
from dataset.scaler import CLIP

OBSERVED = ("price_data", "cob_data", "tech_data", "market_data")
HOLD, BUY, SELL = range(3)
TURN = {HOLD: 0, BUY: 1, SELL: -1}
PERCENT = 100.0
Observation = dict[str, np.ndarray]


class Trading(gymnasium.Env[Observation, int]):
    """Acts at the last close with all of the equity, which starts at 1: buy opens a long or closes a short, sell the
    other way round; what is open already stays as it is. Each trade costs a fee.

    The reward of a step is the change of equity until the next close, in percent of the equity at the start. The
    episode terminates where its candles end (what is open is closed, at a fee) or the equity is gone; it is truncated
    where it was cut for its length, and the market would have gone on.
    """

    def __init__(self, episodes: Mapping[str, np.ndarray], numbers: Sequence[int], fee_bps: float) -> None:
        """Plays those of the scaled `episodes` whose numbers are given.

        Raises ValueError if there is none.
        """
        if not len(numbers):
            raise ValueError("there are 0 episodes to act in, expected at least 1")
        self.episodes, self.numbers, self.fee = episodes, [int(number) for number in numbers], fee_bps / 1e4
        self.offsets = np.cumsum(episodes["length"]) - episodes["length"]
        self.action_space = Discrete(3)  # type: ignore[assignment]
        shapes = {name: episodes[name].shape[1:] for name in OBSERVED} | {"position_state": flat().shape}
        boxes: dict[str, Space[Any]] = {name: Box(-CLIP, CLIP, shape, np.float32) for name, shape in shapes.items()}
        self.observation_space = Dict(boxes)  # type: ignore[assignment]
        self._begin(self.numbers[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the episode `options["episode"]`, or one drawn at random."""
        super().reset(seed=seed)
        drawn = self.numbers[int(self.np_random.integers(len(self.numbers)))] if not options else options["episode"]
        self._begin(drawn)
        return self.observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act at this close and go on to the next one."""
        before = self.equity
        self._trade(TURN[int(action)])
        self.bar += 1
        self.bars_held += 1 if self.direction else 0
        self._value()
        at_end = self.bar == self.episodes["length"][self.episode] - 1
        terminated = self.equity <= 0 or bool(at_end and self.episodes["whole"][self.episode])
        truncated = bool(at_end and not terminated)
        if terminated:
            self._close()
        return self.observation(), PERCENT * (self.equity - before), terminated, truncated, self._info()

    @property
    def row(self) -> int:
        """Where the candle of this moment is among the steps of all episodes."""
        return int(self.offsets[self.episode]) + self.bar

    @property
    def price(self) -> float:
        """The last close."""
        return float(self.episodes["price"][self.row])

    def observation(self) -> Observation:
        """What is seen now: one sample without its batch axis, of fewer candles."""
        seen = {name: self.episodes[name][self.row].copy() for name in OBSERVED}
        return {**seen, "position_state": self.position()}

    def position(self) -> np.ndarray:
        """(5,) float32 the position as samples state it, scaled; there are no stops."""
        if not self.direction:
            return flat().astype(np.float32)
        state = position_state(self.direction, self.entry_price, None, self.bars_held, self.price)
        return np.clip(state / self.episodes["position_deviation"], -CLIP, CLIP).astype(np.float32)

    def state(self) -> dict[str, Any]:
        """Where the episode stands, as JSON values."""
        names = ("episode", "bar", "direction", "entry_price", "invested", "bars_held", "equity")
        return {name: getattr(self, name) for name in names}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from where another environment stood."""
        for name, value in state.items():
            setattr(self, name, value)

    def _begin(self, episode: int) -> None:
        self.episode, self.bar, self.direction, self.bars_held = int(episode), 0, 0, 0
        self.entry_price = self.invested = 0.0
        self.equity = 1.0

    def _trade(self, turn: int) -> None:
        """Towards long (1) or short (-1): close what is against it, or open if nothing is open."""
        if turn and turn == -self.direction:
            self._close()
        elif turn and not self.direction:
            self.equity -= self.equity * self.fee
            self.direction, self.entry_price, self.invested, self.bars_held = turn, self.price, self.equity, 0

    def _close(self) -> None:
        if self.direction:
            self.equity -= self.invested * self.price / self.entry_price * self.fee
            self.direction, self.bars_held, self.entry_price, self.invested = 0, 0, 0.0, 0.0

    def _value(self) -> None:
        """The equity at this close."""
        if self.direction:
            self.equity = self.invested * (1 + self.direction * (self.price / self.entry_price - 1))

    def _info(self) -> dict[str, Any]:
        return {"episode": self.episode, "bar": self.bar, "equity": self.equity}
