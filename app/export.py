"""Tables that leave the page as CSV: no cell or header of them is a formula, and numbers stay numbers."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

# What a spreadsheet takes for a formula, also in full width; cells that are already guarded are guarded once more.
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠|%]")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def cell(value: object) -> str:
    """A value as text that no spreadsheet runs: what could be a formula begins with an apostrophe."""
    text = "" if value is None else repr(value) if isinstance(value, float) else str(value)
    text = text.replace("\x00", "")
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def table_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file of the rows, every cell made safe."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([cell(name) for name in header])
    writer.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8")
