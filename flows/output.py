"""What commands print: lines for people, one JSON object for machines.

What it tells of goes on where nobody reads it any more: a pipe that broke, a full disk behind it.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from flows.errors import ResourceError, visible


def line(text: str) -> None:
    with suppress(OSError):
        put(sys.stdout, text)


def quiet(text: str) -> None:
    """Progress goes to standard error when standard output is JSON."""
    with suppress(OSError):
        put(sys.stderr, text)


def show(found: Any, as_json: bool, lines: Callable[[], Iterable[str]]) -> None:
    """Prints `found` as JSON, or `lines` for a person. Raises ResourceError where it cannot be written."""
    said = [json.dumps(found, default=str)] if as_json else [plain(text) for text in lines()]
    try:
        put(sys.stdout, "\n".join(said)) if said else None
    except BrokenPipeError:
        return  # whoever read it has seen enough
    except OSError as error:
        raise ResourceError(
            f"standard output cannot be written to: {error.strerror}; the command did its work"
        ) from None


def plain(text: str) -> str:
    return "\n".join(visible(line) for line in text.split("\n"))


def put(stream: TextIO, text: str) -> None:
    """Prints a line. What cannot be written is dropped: the interpreter would try it again at its end, and fail."""
    try:
        print(text, file=stream, flush=True)
    except OSError:
        kept, nowhere = os.dup(stream.fileno()), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        stream.flush()
        os.dup2(kept, stream.fileno())
        os.close(kept)
        os.close(nowhere)
        raise


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
