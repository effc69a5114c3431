"""A simulated market with annotated trades: the sample dataset, in whole numbers so that each machine makes the same."""

from dataset.simulate.files import simulate

__all__ = ["simulate"]
