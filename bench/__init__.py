"""Measured claims: one module each; `python -m bench` runs them all."""
