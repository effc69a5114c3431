"""What commands print: lines for people, one JSON object for machines."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flows.errors import visible


def line(text: str) -> None:
    print(text, flush=True)


def quiet(text: str) -> None:
    """Progress goes to standard error when standard output is JSON."""
    print(text, file=sys.stderr, flush=True)


def show(found: Any, as_json: bool, lines: Callable[[], Iterable[str]]) -> None:
    """Prints `found` as JSON, or `lines` for a person."""
    if as_json:
        print(json.dumps(found, default=str))
        return
    for text in lines():
        print("\n".join(visible(line) for line in text.split("\n")))


def table(rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> list[str]:
    """Rows with aligned columns; the columns in `right` are right-aligned numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
