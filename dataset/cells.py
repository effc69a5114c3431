"""Tables of a user as text cells: nothing is converted, dropped or guessed while reading."""

import csv
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dataset.encoding import UTF_8, reading, unreadable
from dataset.schema import ANNOTATION_COLUMNS, ANNOTATION_REQUIRED, listed

Cells = dict[str, str]
MOST_ROWS = 1_000_000  # a lifetime of trades; more is a mistake or an attack
MOST_UNPACKED_BYTES = 1 << 30

FORMULA = tuple("=+-@|%＝＋－＠")  # what a spreadsheet takes for the start of one; our exports lead it by an apostrophe


def read_cells(path: Path) -> list[tuple[int, Cells]]:
    """(row number, cells as text) of a CSV or Parquet file; blank lines are counted and left out.

    Raises ValueError if the file cannot be read, lacks a column or has an unknown one, or a row has other cells.
    """
    try:
        rows = list(_parquet_rows(path) if path.suffix == ".parquet" else _csv_rows(path))
    except (csv.Error, UnicodeDecodeError, pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError):  # one of Arrow's is both
            raise
        raise ValueError(unreadable(path, error)) from None
    header = [name.strip() for name in rows[0]] if rows else []
    _check_header(path.name, header)
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header) and any(cell.strip() for cell in row):
            raise ValueError(f"{path.name} row {number} has {len(row)} cells, expected {len(header)}")
    return [
        (number, dict(zip(header, [_unled(cell.strip()) for cell in row], strict=True)))
        for number, row in enumerate(rows[1:], start=2)
        if any(cell.strip() for cell in row)
    ]


def _unled(cell: str) -> str:
    """A cell as it was before an export led it by an apostrophe."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA) else cell


def _csv_rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding=UTF_8, newline="") as file:
        yield from csv.reader(file, strict=True)


def _parquet_rows(path: Path) -> Iterator[list[str]]:
    file = pq.ParquetFile(path)
    unpacked = sum(file.metadata.row_group(place).total_byte_size for place in range(file.metadata.num_row_groups))
    if file.metadata.num_rows > MOST_ROWS or unpacked > MOST_UNPACKED_BYTES:
        raise ValueError(f"{path.name} unpacks to {file.metadata.num_rows:,} rows, expected at most {MOST_ROWS:,}")
    table = file.read()
    yield table.column_names
    for row in zip(*(_cells(path.name, name, table[name]) for name in table.column_names), strict=True):
        yield ["" if cell is None or cell != cell else _text(cell) for cell in row]


def _cells(file: str, name: str, column: pa.ChunkedArray) -> list[object]:
    with reading(file, name):
        return list(column.to_pylist())


def _text(cell: object) -> str:
    return cell.isoformat() if isinstance(cell, datetime) else str(cell)


def _check_header(file: str, header: list[str]) -> None:
    """Refuse a header that lacks a column, repeats one or has one we do not know."""
    missing = [name for name in ANNOTATION_REQUIRED if name not in header]
    if missing:
        raise ValueError(
            f"{file} row 1: column {missing[0]} is missing, found {listed(header)}{_separator_hint(header)}"
        )
    unknown = [name for name in header if name not in ANNOTATION_COLUMNS]
    if unknown:
        raise ValueError(f"{file} row 1: column {unknown[0]!r} is unknown, expected {', '.join(ANNOTATION_COLUMNS)}")
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise ValueError(f"{file} row 1: a column is there twice: {twice}")


def _separator_hint(header: list[str]) -> str:
    """What to say of a header that is one cell because its columns are not parted by commas."""
    parted = [name for name, mark in (("semicolons", ";"), ("tabs", "\t")) if len(header) == 1 and mark in header[0]]
    return f"; the columns are parted by {parted[0]}, expected commas" if parted else ""
