"""The registered versions for the page, read in the background: MLflow takes seconds to load and to answer."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from app import backend
from flows.control import VersionView
from flows.errors import ServiceDownError

FRESH_S = 10.0  # after which they are read again; what was read before is shown meanwhile
OLD_S = 60.0  # after which it is not shown any more: nobody has looked since, and the champion may be another
Found = list[VersionView] | str  # or why they cannot be read


class Shelf:
    """What was read last and the reading that is under way, for all viewers together."""

    def __init__(self) -> None:
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="versions")
        self.lock = Lock()
        self.reading: Future[Found] | None = None
        self.last: Found | None = None
        self.read_at = 0.0

    def look(self) -> Found | None:
        """The versions, the reason why they cannot be read, or None until a reading has ended."""
        with self.lock:
            if self.reading and self.reading.done():
                self.last, self.reading = self.reading.result(), None
                self.read_at = time.monotonic()
            age_s = time.monotonic() - self.read_at
            if self.reading is None and (self.last is None or age_s > FRESH_S):
                self.reading = self.worker.submit(read)
            return self.last if age_s <= OLD_S else None

    def forget(self) -> None:
        """What was read, or is being read, holds no more: a version has been promoted."""
        with self.lock:
            self.last = self.reading = None


def read() -> Found:
    try:
        return backend.versions()
    except (ServiceDownError, ValueError, OSError) as error:
        return str(error)


SHELF = Shelf()
