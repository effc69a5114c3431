"""Rules for the columns of a Parquet file: times with a zone that only grow, values that are numbers."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from dataset.candles import epoch_seconds
from dataset.findings import Finding, Severity

ROWS_NAMED = 20  # of one rule in one file; the rest is counted
LARGEST = 1e18  # beyond any price or volume, and its square is still finite


def rows(
    file: str, field: str, rule: str, broken: np.ndarray, message: Callable[[int], str], severity: Severity = "error"
) -> Iterator[Finding]:
    """One finding for each broken row, and one that counts those beyond the first twenty.

    broken: (N,) bool; row 2 of the file is index 0.
    """
    found = np.flatnonzero(broken)
    for index in found[:ROWS_NAMED]:
        yield Finding(file, int(index) + 2, field, rule, message(int(index)), severity)
    if len(found) > ROWS_NAMED:
        yield Finding(file, None, field, rule, f"{len(found) - ROWS_NAMED} more rows break this rule", severity)


def time_findings(file: str, times: pd.Series) -> Iterator[Finding]:
    """A time column must have a zone and no empty cell, and be strictly increasing."""
    name = str(times.name)
    if not isinstance(times.dtype, pd.DatetimeTZDtype):
        yield Finding(file, None, name, "zone", f"is {times.dtype}, expected times with the zone UTC")
    elif times.isna().any():
        yield from rows(file, name, "missing", times.isna().to_numpy(), lambda _: "is empty, expected a time")
    else:
        seconds = epoch_seconds(times)
        back = np.diff(seconds, prepend=seconds[:1] - 1) <= 0
        yield from rows(
            file, name, "order", back, lambda i: f"{times[i]} is not after {times[i - 1]} in the row before"
        )


def number_findings(file: str, column: pd.Series, low: float, *, above: bool) -> Iterator[Finding]:
    """A value column must hold numbers below 1e18, at least `low` or, with `above`, greater than it."""
    name = str(column.name)
    if not pd.api.types.is_numeric_dtype(column.dtype):
        yield Finding(file, None, name, "number", f"is {column.dtype}, expected numbers")
        return
    values = column.to_numpy(np.float64, na_value=np.nan)
    inside = (values < LARGEST) & ((values > low) if above else (values >= low))
    limit = "above" if above else "of at least"
    yield from rows(
        file,
        name,
        "number",
        ~inside,
        lambda i: f"is {values[i]}, expected a number {limit} {low:g} and below {LARGEST:g}",
    )
