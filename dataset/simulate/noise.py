"""Random whole numbers that depend on nothing but a seed, a stream and a position."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_GOLDEN = 0x9E3779B97F4A7C15  # SplitMix64 (Steele, Lea, Flood 2014): a counter, then two rounds of mixing
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_WORD = 0xFFFFFFFFFFFFFFFF


def uniform(seed: int, stream: int, count: int, low: int, high: int) -> Ints:
    """Whole numbers from `low` to `high`, both included, the same in every numpy: its own generators may change."""
    start = (seed * 1_000_003 + stream) * _GOLDEN & _WORD
    origin = _mixed(np.array([start], dtype=np.uint64))
    words = _mixed(np.arange(count, dtype=np.uint64) * np.uint64(_GOLDEN) + origin)
    # the modulo's bias is below 2^-40 for the small spans used here
    return low + ((words >> np.uint64(11)) % np.uint64(high - low + 1)).astype(np.int64)


def bell(seed: int, stream: int, count: int, reach: int) -> Ints:
    """Numbers shaped like a normal curve around 0: four uniform ones added, standard deviation about 1.15 `reach`."""
    return uniform(seed, stream, count * 4, -reach, reach).reshape(count, 4).sum(axis=1)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))
