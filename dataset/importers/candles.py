"""Candle files of other programs as our own candles, every cell checked, each row traceable to its file."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dataset.candles import Candles
from dataset.column_rules import rows
from dataset.encoding import reading
from dataset.findings import Finding
from dataset.importers.tables import Column, read_table
from dataset.importers.times import read_times
from dataset.schema import CANDLE_COLUMNS, symbol_dir, timeframe_seconds

_THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")
_PLAIN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class CandleSource:
    """A file of candles and what is in it: file names are not trusted to say."""

    symbol: str
    timeframe: str
    path: Path

    def __post_init__(self) -> None:
        symbol_dir(self.symbol)
        timeframe_seconds(self.timeframe)


@dataclass(frozen=True, slots=True, eq=False)
class ImportedCandles:
    """Candles in order of time, N of them, and where each came from."""

    candles: Candles
    source: CandleSource
    row_numbers: np.ndarray  # (N,) int64 rows of the source file, its header is row 1
    meaning: str  # how the times were understood
    unfinished: int  # candles left out because they had not closed yet

    def located(self, finding: Finding) -> Finding:
        """The same finding, told of the user's file and row instead of ours."""
        row = None if finding.row is None else int(self.row_numbers[finding.row - 2])
        return Finding(self.source.path.name, row, finding.field, finding.rule, finding.message, finding.severity)


def read_candles(source: CandleSource, now_s: float) -> tuple[ImportedCandles, list[Finding]]:
    """Candles of a file, oldest first even if the file is newest first, and what is wrong with its cells.

    A last candle that closes after `now_s` is still changing: it is left out, counted and told.
    Raises ValueError if the file cannot be read or lacks a column.
    """
    table = read_table(source.path)
    name = source.path.name
    with reading(name, "open_time"):
        seconds, problems, meaning = read_times(table.columns["open_time"], source.timeframe)
    broken = np.array([bool(problem) for problem in problems], bool)
    found = list(rows(name, "open_time", "time", broken, lambda i: problems[i]))
    values = np.empty((len(seconds), 5))
    for place, field in enumerate(CANDLE_COLUMNS[1:]):
        cells = table.columns[field]
        with reading(name, field):
            values[:, place] = numbers(cells, thousands=table.delimiter == ",")
        found += _unread(name, field, cells, values[:, place])
    row_numbers = np.array(table.rows, np.int64)
    read = ImportedCandles(Candles(source.timeframe, seconds, values), source, row_numbers, meaning, 0)
    found = [read.located(finding) for finding in found]
    if found:
        return read, found
    return _finished(_oldest_first(read), now_s)


def numbers(cells: Column, *, thousands: bool) -> np.ndarray:
    """(N,) float64 of a column, NaN where a cell is no number; `thousands` allows 1,234.5."""
    if isinstance(cells, list):
        return np.array([_number(cell, thousands) for cell in cells], np.float64)
    return np.array([_typed_number(cell) for cell in cells.to_pylist()], np.float64)


def _unread(file: str, field: str, cells: Column, values: np.ndarray) -> Iterator[Finding]:
    return rows(file, field, "number", ~np.isfinite(values), lambda i: f"{_cell(cells, i)!r}, expected a number")


def _number(text: str, thousands: bool) -> float:
    if thousands and _THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    return float(text) if _PLAIN.fullmatch(text) else math.nan


def _typed_number(cell: object) -> float:
    if isinstance(cell, str):
        return _number(cell, thousands=False)
    return float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else math.nan


def _cell(cells: Column, index: int) -> object:
    return cells[index] if isinstance(cells, list) else cells[index].as_py()


def _oldest_first(read: ImportedCandles) -> ImportedCandles:
    """Only a file that runs backwards throughout is turned round: a mixed order stays, to be refused by its row."""
    times = read.candles.open_time
    if len(times) < 2 or not (np.diff(times) < 0).all():
        return read
    turned = Candles(read.candles.timeframe, times[::-1], read.candles.values[::-1])
    return ImportedCandles(turned, read.source, read.row_numbers[::-1], read.meaning, read.unfinished)


def _finished(read: ImportedCandles, now_s: float) -> tuple[ImportedCandles, list[Finding]]:
    """One candle may be unfinished and is left out; more in the future are a wrong clock or unit."""
    candles = read.candles
    unclosed = candles.close_time > now_s
    if np.count_nonzero(unclosed) > 1:
        found = rows("", "open_time", "future", unclosed, lambda i: "closes in the future, expected a past time")
        return read, [read.located(finding) for finding in found]
    if not unclosed.any() or not unclosed[-1]:
        return read, []
    message = "had not closed yet, so it was left out"
    finding = Finding("", len(unclosed) + 1, "open_time", "unfinished", message, "warning")
    kept = Candles(candles.timeframe, candles.open_time[:-1], candles.values[:-1])
    return ImportedCandles(kept, read.source, read.row_numbers[:-1], read.meaning, 1), [read.located(finding)]
