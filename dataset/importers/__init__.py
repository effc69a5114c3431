"""Importing a user's annotations and candles as a data root."""

from dataset.importers.candles import CandleSource
from dataset.importers.root import import_dataset

__all__ = ["CandleSource", "import_dataset"]
