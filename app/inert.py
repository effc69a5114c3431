"""Tables as CSV for a spreadsheet, in which no text of others is ever a formula."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

# What Excel, LibreOffice or Sheets may take for the start of a formula; the wide forms too.
STARTS = tuple("=+-@\t\r\n|%＝＋－＠")


def text(value: Any) -> Any:
    """A cell: numbers stay numbers; text that would start a formula is led by an apostrophe.

    Text that looks led already is led once more, so that reading it back takes off just what was put on.
    """
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return value
    line = "".join(char if char.isprintable() else " " for char in str(value))
    return f"'{line}" if line.lstrip(" '").startswith(STARTS) or str(value).startswith(STARTS) else line


def as_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Columns of equal length by their names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(map(text, columns))
    writer.writerows([text(cell) for cell in row] for row in zip(*columns.values(), strict=True))
    return out.getvalue()
