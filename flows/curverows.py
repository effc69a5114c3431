"""Lines of a curve file as rows: a number or nothing in each column.

The files are ours and hold numbers alone, so a line of anything else is what a crash or a failing disk left: it is no
row, and whoever reads the file goes on with the others.
"""

from collections.abc import Iterable
from itertools import pairwise

COUNTED = ("step", "epoch")  # whole numbers


def parsed(columns: list[str], lines: Iterable[str]) -> list[dict[str, str]]:
    """The rows among the lines of a file with these columns."""
    if "step" not in columns:
        return []
    split = (line.split(",") for line in lines)
    return [
        dict(zip(columns, fields, strict=True))
        for fields in split
        if len(fields) == len(columns) and all(map(is_number, fields)) and counted(columns, fields)
    ]


def counted(columns: list[str], fields: list[str]) -> bool:
    return all(fields[columns.index(name)].isdecimal() for name in COUNTED if name in columns)


def is_number(text: str) -> bool:
    try:
        return not text or float(text) is not None
    except ValueError:
        return False


def gap(steps: list[int], last: int) -> str:
    """In words, which of the updates 1 to `last` are not among the ascending `steps`; empty when all are there."""
    there = [0, *(step for step in steps if step <= last), last + 1]
    missing = [(before + 1, after - 1) for before, after in pairwise(there) if after - before > 1]
    return ", ".join(f"{first} to {end}" if end > first else str(first) for first, end in missing)
