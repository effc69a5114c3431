"""Annotation files as our own: the rows that can be used, and why each other one cannot."""

import csv
from dataclasses import dataclass
from pathlib import Path

from dataset.annotations import parse
from dataset.cells import Cells, read_cells
from dataset.findings import Finding
from dataset.schema import ANNOTATION_COLUMNS, ANNOTATION_REQUIRED

SUFFIXES = (".csv", ".parquet")
MOST_BYTES = 64 << 20  # a hundred thousand trades with long notes


@dataclass(frozen=True, slots=True)
class ImportedAnnotations:
    """Accepted rows as text cells, and the findings of the rejected ones; together they are every row."""

    path: Path
    accepted: list[tuple[int, Cells]]
    findings: list[Finding]
    total: int

    @property
    def rejected(self) -> int:
        """Number of rows that were not accepted."""
        return self.total - len(self.accepted)

    def without(self, findings: list[Finding]) -> "ImportedAnnotations":
        """The same with more rows rejected: those that do not fit the candles."""
        bad = {finding.row for finding in findings}
        kept = [(row, cells) for row, cells in self.accepted if row not in bad]
        return ImportedAnnotations(self.path, kept, self.findings + findings, self.total)

    def located(self, finding: Finding) -> Finding:
        """A finding about the file that `write_annotations` wrote, told of the user's file and row."""
        row = None if finding.row is None else self.accepted[finding.row - 2][0]
        return Finding(self.path.name, row, finding.field, finding.rule, finding.message, finding.severity)


def read_annotation_file(path: Path) -> ImportedAnnotations:
    """Read annotations in our own columns from CSV or Parquet.

    Raises ValueError if the file is missing, too large, of another kind, unreadable, or lacks a column.
    """
    if not path.is_file():
        raise ValueError(f"{path} is {'no file' if path.exists() else 'missing'}, expected a file of annotations")
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path.name} ends in {path.suffix!r}, expected {' or '.join(SUFFIXES)}")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes, expected at most {MOST_BYTES:,}")
    rows = read_cells(path)
    trades, findings = parse(rows, path.name)
    good = {trade.row for trade in trades}
    return ImportedAnnotations(path, [(row, cells) for row, cells in rows if row in good], findings, len(rows))


def write_annotations(path: Path, rows: list[tuple[int, Cells]]) -> None:
    """Write rows as CSV with every one of our columns that any of them fills; the cells keep their text."""
    names = [name for name in ANNOTATION_COLUMNS if name in ANNOTATION_REQUIRED or _filled(name, rows)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells for _, cells in rows)


def _filled(name: str, rows: list[tuple[int, Cells]]) -> bool:
    return any(cells.get(name) for _, cells in rows)
