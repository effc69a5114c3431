"""Open times of a candle file as whole seconds since 1970 UTC: a zone or a unit is never guessed."""

import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from dataset.annotations import EARLIEST, LATEST, parse_time
from dataset.importers.tables import Column
from dataset.schema import timeframe_seconds

_DAY_S = 86_400
_NUMBER = re.compile(r"[0-9]{1,19}")
_DATE_FORMATS = ("%Y-%m-%d", "%b %d, %Y")  # as exchanges and Yahoo write days; 01/02/03 could be three of them
_LONGEST_DATE = len("Dec 19, 2024")
_UNITS = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

Times = tuple[np.ndarray, list[str], str]  # (N,) int64; a message a row, empty if it is right; what was read


def read_times(column: Column, timeframe: str) -> Times:
    """Seconds of each row, what is wrong with it, and how the column was understood."""
    if isinstance(column, list):
        return _texts(column, timeframe)
    kind = column.type
    if pa.types.is_timestamp(kind):
        return _typed(column, kind)
    if pa.types.is_date(kind):
        return _texts([str(cell or "") for cell in column.to_pylist()], timeframe)
    if pa.types.is_integer(kind):
        return _epochs([cell if cell is not None else -1 for cell in column.to_pylist()])
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _texts([cell or "" for cell in column.to_pylist()], timeframe)
    return _none(len(column), f"is {kind}, expected times with a zone or whole numbers")


def _typed(column: pa.ChunkedArray, kind: pa.TimestampType) -> Times:
    if kind.tz is None:
        return _none(len(column), f"is {kind}, a time without a zone, expected one in UTC")
    ticks = [cell if cell is not None else -1 for cell in column.cast(pa.int64()).to_pylist()]
    return _scaled(ticks, _PER_SECOND[kind.unit], "times with a zone")


def _texts(cells: list[str], timeframe: str) -> Times:
    if cells and all(_NUMBER.fullmatch(cell) for cell in cells):
        return _epochs([int(cell) for cell in cells])
    daily = timeframe_seconds(timeframe) % _DAY_S == 0
    seconds, problems = np.zeros(len(cells), np.int64), [""] * len(cells)
    for index, cell in enumerate(cells):
        try:
            day = _day(cell)
            if day is not None and not daily:
                raise ValueError(
                    f"{cell!r} is a day without a time, expected the time and zone of a {timeframe} candle"
                )
            seconds[index] = parse_time(cell) if day is None else day
        except ValueError as error:
            problems[index] = str(error)
    return seconds, problems, "UTC days" if daily and cells and _day(cells[0]) is not None else "times with a zone"


def _day(text: str) -> int | None:
    """Midnight UTC of a date, None for anything else."""
    for pattern in _DATE_FORMATS if len(text) <= _LONGEST_DATE else ():
        try:
            day = datetime.strptime(text, pattern).replace(tzinfo=UTC)
        except ValueError:
            continue
        return int(day.timestamp())
    return None


def _epochs(values: list[int]) -> Times:
    """Numbers since 1970: their size tells the unit, since no unit's years 1990 to 2099 overlap another's."""
    units = [_unit(value) for value in values[:1]]
    if not units or units[0] is None:
        return _none(len(values), f"{values[0] if values else ''} is no time since 1970 in a year from 1990 to 2099")
    return _scaled(values, units[0], f"{_UNITS[units[0]]} since 1970")


def _scaled(ticks: list[int], per_second: int, meaning: str) -> Times:
    problems = [
        "" if _unit(tick) == per_second and tick % per_second == 0 else f"{tick} is no whole second of {meaning}"
        for tick in ticks
    ]
    right = [0 if problem else tick // per_second for tick, problem in zip(ticks, problems, strict=True)]
    return np.array(right, np.int64), problems, meaning


def _unit(value: int) -> int | None:
    low, high = int(EARLIEST.timestamp()), int(LATEST.timestamp())
    return next((unit for unit in _UNITS if low * unit <= value < high * unit), None)


def _none(count: int, problem: str) -> Times:
    return np.zeros(count, np.int64), [problem] * count, "nothing"
