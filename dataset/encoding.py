"""What cannot be read of a table: rows that are no UTF-8 text and cells that have no text, told with what to do."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

UTF_8 = "utf-8-sig"  # with or without the mark that some programs put first


def unreadable(path: Path, error: Exception) -> str:
    """Why a table could not be read."""
    if isinstance(error, UnicodeDecodeError) and path.suffix.lower() == ".csv":
        reason = f"row {bad_row(path)} is no UTF-8 text; save the file as UTF-8 and give it again"
    elif "field larger than field limit" in str(error):
        reason = 'a cell has more than 131,072 characters, perhaps from a quote (") that is opened and never closed'
    else:
        reason = str(error).splitlines()[0]
    return f"{path.name} cannot be read: {reason}"


def bad_row(path: Path) -> int:
    """The first row that is no UTF-8, its header is row 1. UTF-16 is none from its first row on.

    It is known by its zeros, and other bytes by what stands for them.
    """
    number = 0
    with path.open(encoding=UTF_8, errors="surrogateescape", newline="") as file, suppress(csv.Error):
        for number, row in enumerate(csv.reader(file), start=1):
            text = "".join(row)
            if "\0" in text or any("\udc80" <= char <= "\udcff" for char in text):
                return number
    return number + 1  # the row that is none at all


@contextmanager
def reading(file: str, field: str) -> Iterator[None]:
    """While the cells of a typed column are taken out: times beyond all calendars and zones that are none.

    Raises ValueError naming the file and the column.
    """
    try:
        yield
    except (OverflowError, KeyError, UnicodeDecodeError, pa.ArrowException) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"{file}, {field}: holds cells that cannot be read ({said}), expected text or numbers"
        ) from None
