"""How often a server that ended is started again, and after which pause."""

import time

FIRST_S, MOST_S = 1.0, 30.0
MOST, WINDOW_S = 6, 600.0  # so many ends within the window; one more, and something is wrong that no start heals


class Revival:
    """Remembers the ends of one server."""

    def __init__(self) -> None:
        self._ends: list[float] = []

    def pause_s(self) -> float | None:
        """It has ended now: seconds until it is to be started again, each time twice as long; None for never."""
        at = time.monotonic()
        self._ends = [*(end for end in self._ends if at - end < WINDOW_S), at]
        return None if len(self._ends) > MOST else min(MOST_S, FIRST_S * 2.0 ** (len(self._ends) - 1))
