"""100 features of the consolidated order book, from the resting size in 20 buckets each side.

40 sizes (log), 40 running shares of the whole book, 20 imbalances by depth. A book is as of its time: it is visible
from then on, until it is too old.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dataset.candles import epoch_seconds, read_frame
from dataset.schema import ASK_COLUMNS, BID_COLUMNS, BOOK_BUCKETS, BOOK_COLUMNS, book_path

BOOK_FEATURES = (
    *(f"{side}_size_{depth:02d}" for side in ("bid", "ask") for depth in range(1, BOOK_BUCKETS + 1)),
    *(f"{side}_share_{depth:02d}" for side in ("bid", "ask") for depth in range(1, BOOK_BUCKETS + 1)),
    *(f"imbalance_{depth:02d}" for depth in range(1, BOOK_BUCKETS + 1)),
)


@dataclass(frozen=True, slots=True, eq=False)
class Book:
    """The features of every book snapshot of one symbol."""

    time: np.ndarray  # (N,) int64 seconds, strictly increasing
    features: np.ndarray  # (N, 100) float64

    def at(self, times: np.ndarray, max_age_s: int) -> np.ndarray:
        """(..., 100) the latest snapshot at each time; NaN if there is none or it is older than `max_age_s`."""
        last = np.searchsorted(self.time, times, side="right") - 1
        if not len(self.time):
            return np.full((*np.shape(times), len(BOOK_FEATURES)), np.nan)
        fresh = (last >= 0) & (times - self.time[last] <= max_age_s)
        return np.where(fresh[..., None], self.features[last], np.nan)


def load_book(root: Path, symbol: str) -> Book:
    """The book of a symbol; without a file, one without snapshots."""
    path = book_path(root, symbol)
    if not path.is_file():
        return Book(np.empty(0, np.int64), np.empty((0, len(BOOK_FEATURES))))
    frame = read_frame(path, BOOK_COLUMNS)
    bids, asks = (frame[list(names)].to_numpy(np.float64) for names in (BID_COLUMNS, ASK_COLUMNS))
    return Book(epoch_seconds(frame["time"]), book_features(bids, asks))


def book_features(bids: np.ndarray, asks: np.ndarray) -> np.ndarray:
    """(N, 100) from sizes (N, 20) each side, the bucket at the middle price first; all 0 for an empty book."""
    deep_bids, deep_asks = bids.cumsum(axis=1), asks.cumsum(axis=1)
    both = deep_bids + deep_asks
    whole = np.maximum(both[:, -1:], np.finfo(np.float64).tiny)
    imbalance = (deep_bids - deep_asks) / np.maximum(both, np.finfo(np.float64).tiny)
    return np.concatenate([np.log1p(bids), np.log1p(asks), deep_bids / whole, deep_asks / whole, imbalance], axis=1)
