"""Order book of the simulated symbol: resting size in price buckets, leaning to the side that is about to win."""

import numpy as np

from dataset.simulate.noise import Ints, bell, uniform
from dataset.simulate.plan import Swing

EVERY_BARS = 5  # one snapshot in five minutes keeps the sample small
_BEFORE, _AFTER = 9, 6  # bars around a turn during which the book leans


def sizes(seed: int, bars: int, plan: list[Swing], buckets: int) -> tuple[Ints, Ints]:
    """Bids and asks, each (snapshots, buckets) from the best price outwards; snapshot k is taken as bar 5k opens."""
    count = bars // EVERY_BARS
    lean = _lean(seed, count, plan)[:, None]
    shape = 7 + np.arange(buckets, dtype=np.int64) // 2
    noise = [bell(seed, 60 + side, count * buckets, 2).reshape(count, buckets) for side in (0, 1)]
    bids = np.maximum(shape * (16 + lean) // 16 + noise[0], 0)
    asks = np.maximum(shape * (16 - lean) // 16 + noise[1], 0)
    return bids, asks


def _lean(seed: int, count: int, plan: list[Swing]) -> Ints:
    """Sixteenths by which bids outweigh asks: slow noise, and the coming side at a turn (not at every one)."""
    drift = np.cumsum(bell(seed, 62, count + 6, 1))
    lean = drift[6:] - drift[:-6]
    turns = [(s.entry_turn, s.direction) for s in plan] + [(s.exit_turn, -s.direction) for s in plan]
    strength = uniform(seed, 63, len(turns), 0, 11)
    for (bar, side), push in zip(turns, strength, strict=True):
        first, last = -(-(bar - _BEFORE) // EVERY_BARS), (bar + _AFTER) // EVERY_BARS
        lean[first : last + 1] += side * push
    return np.clip(lean, -13, 13)
