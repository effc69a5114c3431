"""How long an attempt on another machine has been silent, as this process itself has seen it.

A heartbeat that is old may be so because nobody could write it, or because this machine slept. So only what was looked
at again and again, without a gap and while the ledger could be written, counts as silence.
"""

import time
from collections.abc import Hashable

WINDOW_S = 90.0  # nine heartbeats
GAP_S = 60.0  # between two looks; after a longer one all starts anew


class Silence:
    """Remembers when each thing was first seen in the state that it is still in."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, tuple[object, float]] = {}
        self._looked: float | None = None

    def look(self, writable: bool = True) -> None:
        """To be called once before each round; what was seen before an outage or a gap is forgotten."""
        at = time.monotonic()
        if not writable or (self._looked is not None and at - self._looked > GAP_S):
            self._seen.clear()
        self._looked = at

    def lasts_s(self, key: Hashable, state: object) -> float:
        """For how long `key` has been seen in this very state."""
        before, since = self._seen.get(key, (None, 0.0))
        if before != state:
            since = time.monotonic()
            self._seen[key] = (state, since)
        return time.monotonic() - since
