"""A candle file as a user has it: columns under the names we know, cells unchanged, each row with its number."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from dataset.encoding import UTF_8, unreadable
from dataset.schema import CANDLE_COLUMNS, listed

Column: TypeAlias = list[str] | pa.ChunkedArray  # text cells of a CSV, typed cells of Parquet and Feather

TIME_NAMES = ("open_time", "date", "timestamp", "time", "datetime")
SUFFIXES = (".csv", ".parquet", ".feather")
MOST_ROWS = 20_000_000  # 38 years of minutes; more is a mistake or an attack
MOST_BYTES = 512 << 20  # of the file
MOST_UNPACKED_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class Table:
    """The six columns of a candle file; `rows` numbers them as the file does, its header is row 1."""

    columns: dict[str, Column]
    rows: list[int]
    delimiter: str  # of a CSV, else empty


def read_table(path: Path) -> Table:
    """Read a CSV, Parquet or Feather file.

    Raises ValueError if it is missing, too large, of another kind, unreadable, or lacks or repeats a column.
    """
    if not path.is_file():
        raise ValueError(f"{path} is {'no file' if path.exists() else 'missing'}, expected a candle file")
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path.name} ends in {path.suffix!r}, expected {', '.join(SUFFIXES)}")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes, expected at most {MOST_BYTES:,}")
    try:
        return _csv(path) if path.suffix.lower() == ".csv" else _arrow(path)
    except (csv.Error, UnicodeDecodeError, pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError):  # one of Arrow's is both
            raise
        raise ValueError(unreadable(path, error)) from None


def _csv(path: Path) -> Table:
    with path.open(encoding=UTF_8, newline="") as file:
        first = file.readline()
        delimiter = max(",;\t", key=first.count)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        header = next(reader, [])
        lines = [(number, line) for number, line in enumerate(reader, start=2) if any(map(str.strip, line))]
    for number, line in lines:
        if len(line) != len(header):
            raise ValueError(f"{path.name} row {number} has {len(line)} cells, expected {len(header)}")
    places = _places(path.name, header)
    columns: dict[str, Column] = {name: [line[place].strip() for _, line in lines] for name, place in places.items()}
    return Table(columns, [number for number, _ in lines], delimiter)


def _arrow(path: Path) -> Table:
    if path.suffix.lower() == ".parquet":
        source = pq.ParquetFile(path)
        unpacked = sum(source.metadata.row_group(i).total_byte_size for i in range(source.metadata.num_row_groups))
        if source.metadata.num_rows > MOST_ROWS or unpacked > MOST_UNPACKED_BYTES:
            raise ValueError(f"{path.name} unpacks to {source.metadata.num_rows:,} rows, more than can be meant")
        names = list(source.schema_arrow.names)
        places = _places(path.name, names)
        table = source.read(columns=[names[place] for place in places.values()])
    else:
        table = feather.read_table(path)
        names = list(table.column_names)
        places = _places(path.name, names)
    columns: dict[str, Column] = {name: table.column(names[place]) for name, place in places.items()}
    return Table(columns, list(range(2, table.num_rows + 2)), "")


def _places(file: str, header: list[str]) -> dict[str, int]:
    """Where each of our columns is: by name in any case; the words after two spaces explain, as Yahoo writes them."""
    names = [re.split(r"\s{2,}", name.strip())[0].strip("<>").lower() for name in header]
    places = {}
    for wanted in CANDLE_COLUMNS:
        known = TIME_NAMES if wanted == "open_time" else (wanted,)
        found = [place for place, name in enumerate(names) if name in known]
        if not found:
            raise ValueError(f"{file} row 1: column {wanted} is missing, found {listed(names)}")
        if len(found) > 1:
            raise ValueError(
                f"{file} row 1: columns {' and '.join(names[p] for p in found[:3])} could both be {wanted}"
            )
        places[wanted] = found[0]
    return places
