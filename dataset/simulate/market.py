"""One-minute candles of a simulated symbol: a planned path, noise on top, volume that rises at the turns."""

import numpy as np

from dataset.simulate.noise import Ints, bell, uniform
from dataset.simulate.plan import Swing

STEPS = 6  # price moves inside a minute, enough for honest highs and lows
_FINE = 1_000  # the planned path is interpolated in thousandths of a tick
# volume by UTC hour, in eighths
_SESSION = (5, 5, 5, 6, 6, 7, 8, 9, 9, 8, 8, 8, 9, 11, 12, 12, 11, 10, 9, 8, 7, 6, 6, 5)


def path(points: list[tuple[int, int]], bars: int) -> Ints:
    """The planned level (ticks) after each of `bars * STEPS` moves, on straight lines between the knots."""
    level = np.zeros(bars * STEPS, dtype=np.int64)
    ends = [*points[1:], (bars, points[-1][1])]
    for (bar, start), (next_bar, end) in zip(points, ends, strict=True):
        count = (next_bar - bar) * STEPS
        rise = (end - start) * _FINE * np.arange(1, count + 1, dtype=np.int64) // max(count, 1)
        level[bar * STEPS : next_bar * STEPS] = start + rise // _FINE
    return level


def wander(seed: int, stream: int, bars: int, reach: int) -> Ints:
    """A random walk (ticks), one value for each of `bars * STEPS` moves."""
    return np.cumsum(bell(seed, stream, bars * STEPS, reach))


def candles(ticks: Ints, opening: int) -> dict[str, Ints]:
    """Open, high, low and close in ticks from the price after each move; a bar opens where the last one closed."""
    moves = ticks.reshape(-1, STEPS)
    close = moves[:, -1]
    open_ = np.concatenate([[opening], close[:-1]])
    return {
        "open": open_,
        "high": np.maximum(open_, moves.max(axis=1)),
        "low": np.minimum(open_, moves.min(axis=1)),
        "close": close,
    }


def volume(seed: int, stream: int, bars: int, base: int, turns: list[tuple[int, int]]) -> Ints:
    """Traded size of each bar: the hour's habit, noise, a few spikes without a cause, and more at the turns.

    `turns` is (bar, boost in eighths of the usual size).
    """
    hour = np.arange(bars, dtype=np.int64) // 60 % 24
    habit = np.array(_SESSION, dtype=np.int64)[hour]
    spike = np.where(uniform(seed, stream + 1, bars, 0, 149) == 0, 12, 0)
    factor = 8 + spike
    for bar, boost in turns:
        factor[bar - 5 : bar + 4] += boost
    noise = 16 + np.abs(bell(seed, stream + 2, bars, 5))
    return np.maximum(base * habit * factor * noise // (8 * 8 * 16), 1)


def boosts(seed: int, stream: int, plan: list[Swing], *, lead: int) -> list[tuple[int, int]]:
    """How much volume each turn brings, entry and exit, some of them hardly any."""
    bars = sorted(bar for swing in plan for bar in (swing.entry_turn, swing.exit_turn))
    return [(bar - lead, int(boost)) for bar, boost in zip(bars, uniform(seed, stream, len(bars), 0, 8), strict=True)]
