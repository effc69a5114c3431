"""Text files of people are UTF-8: where one is not, its first row that is none is named with what to do."""

import csv
from contextlib import suppress
from pathlib import Path

UTF_8 = "utf-8-sig"  # with or without the mark that some programs put first


def unreadable(path: Path, error: Exception) -> str:
    """Why a table could not be read."""
    if isinstance(error, UnicodeDecodeError) and path.suffix.lower() == ".csv":
        reason = f"row {bad_row(path)} is no UTF-8 text; save the file as UTF-8 and give it again"
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
