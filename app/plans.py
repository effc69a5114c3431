"""Memory plans for the page, and samples counted for them. Each takes seconds, so it is worked out in the background,
once for all viewers.
"""

from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

from app import backend
from dataset.config import PreprocessConfig
from model.device import Device
from model.kinds import NetworkConfig
from model.plan import Plan, plan
from model.shortage import there
from model.verdict import Verdict, verdict

GB = 2**30  # as graphics cards count
KEPT = 1000  # answers that stay known; each is a few numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One training run to plan."""

    config: NetworkConfig
    batch: int
    seq_len: int
    precision: str
    checkpointing: bool
    samples: tuple[int, int] | None = None  # of the training and the validation split, a batch of each if None


class Planner:
    """One worker and what it has found. While it works it takes no second order, so nobody waits for stale ones."""

    def __init__(self) -> None:
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="plan")
        self.known: dict[Hashable, Future[Any]] = {}
        self.lock = Lock()

    def look(self, ask: Ask) -> Plan | None:
        """The plan if it is known; else None, and it is begun if the worker is free: look again in a moment.

        Raises ValueError for a run that cannot be planned.
        """
        found: Plan | None = self._look(ask, lambda: work_out(ask))
        return found

    def count(self, version: str, preprocess: PreprocessConfig) -> tuple[int, int] | None:
        """Training and validation samples of the dataset in `data/`; None until they are counted.

        Raises ValueError when it is not valid.
        """
        found: tuple[int, int] | None = self._look(
            (version, preprocess), lambda: backend.count_samples(version, preprocess)
        )
        return found

    def judge(self, planned: Plan, device_bytes: int) -> Verdict | None:
        """Whether a plan fits and, if not, what would, which takes more plans; None until that is known."""
        found: Verdict | None = self._look((planned, device_bytes), lambda: verdict(planned, device_bytes))
        return found

    def _look(self, key: Hashable, work: Callable[[], Any]) -> Any:
        with self.lock:
            if key not in self.known:
                if not all(future.done() for future in self.known.values()):
                    return None
                if len(self.known) >= KEPT:
                    self.known.pop(next(iter(self.known)))
                self.known[key] = self.worker.submit(work)
            future = self.known[key]
        return future.result() if future.done() else None


def work_out(ask: Ask) -> Plan:
    return plan(ask.config, ask.batch, ask.seq_len, ask.precision, ask.checkpointing, samples=ask.samples)


def memory_of(device: Device) -> int:
    """All bytes of the device that trains: of the card, else of this machine."""
    return there(device)[1]


PLANNER = Planner()
