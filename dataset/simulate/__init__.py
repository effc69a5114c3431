"""A simulated market with annotated trades, in whole numbers so that every machine makes the same sample dataset."""

from dataset.simulate.files import simulate

__all__ = ["simulate"]
