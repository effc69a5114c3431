"""SIGTERM and Ctrl-C on a training: it saves at the next update and then ends."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """Whether the process was told to end. While nothing can be saved, it ends at once."""

    def __init__(self) -> None:
        self.sign: int | None = None
        self.can_save = False
        for sign in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sign, self._told)

    def asked(self) -> bool:
        return self.sign is not None

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Inside, a signal is only noted: what runs there asks, saves and returns."""
        self.can_save = True
        try:
            yield
        finally:
            self.can_save = False

    def leave(self) -> None:
        """Ends the process as the signal would have."""
        sys.exit(128 + (self.sign or signal.SIGTERM))

    def _told(self, sign: int, frame: FrameType | None) -> None:
        again, self.sign = self.sign == signal.SIGINT, sign
        if again or not self.can_save:
            self.leave()
