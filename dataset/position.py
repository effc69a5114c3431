"""The position state of a sample: five numbers that say whether a trade is open and how it stands."""

import numpy as np

POSITION_FEATURES = ("in_position", "direction", "unrealised_return", "bars_held", "stop_distance")
FLAGS = 2  # the first two are flags and are never scaled


def flat() -> np.ndarray:
    """(5,) no open position."""
    return np.zeros(len(POSITION_FEATURES))


def position_state(
    direction: int, entry_price: float, stop: float | None, bars_held: float, close: float
) -> np.ndarray:
    """(5,) an open position, seen at the last visible close.

    Returns and the distance to the stop are logs, positive while the trade is ahead and the stop not reached;
    bars held is log1p; the distance is 0 without a stop.
    """
    return np.array(
        [
            1.0,
            direction,
            direction * np.log(close / entry_price),
            np.log1p(bars_held),
            0.0 if stop is None else direction * np.log(close / stop),
        ]
    )
