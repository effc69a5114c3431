"""Annotations: one trade a row, read as text first so that nothing is guessed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dataset.cells import Cells, read_cells
from dataset.findings import Finding
from dataset.schema import (
    ANNOTATION_REQUIRED,
    SIDES,
    annotation_path,
    symbol_dir,
    timeframe_seconds,
)

EARLIEST, LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
HIGHEST_PRICE = 1e12  # beyond any market, and far from the limits of float32


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """One annotated trade; times are seconds since 1970 UTC."""

    row: int  # in its file, the header is row 1
    annotation_id: str
    symbol: str
    timeframe: str
    side: str
    entry_time: int
    entry_price: float
    exit_time: int
    exit_price: float
    decided_at: int  # the entry sample sees no bar that closed later
    stop_price: float | None = None
    target_price: float | None = None
    annotator: str = ""
    reviewed: str = ""
    note: str = ""

    @property
    def direction(self) -> int:
        """+1 long, -1 short."""
        return 1 if self.side == "long" else -1

    @property
    def in_profit(self) -> bool:
        """Whether the trade ended above its entry, seen from its side."""
        return self.direction * (self.exit_price - self.entry_price) > 0


def read_annotations(root: Path) -> tuple[list[Annotation], list[Finding]]:
    """The annotations of a data root in file order, and what is wrong with the rows that were refused.

    Raises ValueError if the file is missing or cannot be read at all.
    """
    path = annotation_path(root)
    return parse(read_cells(path), path.name)


def by_entry(trades: list[Annotation]) -> list[Annotation]:
    """Trades in order of entry: a trade's place in this list is its number everywhere."""
    return sorted(trades, key=lambda trade: (trade.entry_time, trade.annotation_id))


def parse(rows: list[tuple[int, Cells]], file: str) -> tuple[list[Annotation], list[Finding]]:
    """Annotations from cells: every row is accepted or has at least one finding."""
    accepted: list[Annotation] = []
    findings: list[Finding] = []
    seen: dict[str, int] = {}
    for row, cells in rows:
        found = [Finding(file, row, *problem) for problem in _problems(cells)]
        name = cells.get("annotation_id", "")
        if name and name in seen:
            found.append(Finding(file, row, "annotation_id", "unique", f"{name!r} is already in row {seen[name]}"))
        seen.setdefault(name, row)
        findings += found
        if not found:
            accepted.append(_annotation(row, cells))
    return accepted, findings


def parse_time(text: str) -> int:
    """Seconds since 1970 of an ISO-8601 time with offset; a fraction of a second is cut off, so nothing later is seen.

    Raises ValueError for any other text, also for a bare number, whose unit and zone would be a guess.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no ISO-8601 time, expected one such as 2024-08-05T02:21:00Z") from None
    if time.tzinfo is None:
        raise ValueError(f"{text!r} has no zone, expected an offset such as Z or +02:00")
    if not EARLIEST <= time < LATEST:
        raise ValueError(f"{text!r} is out of range, expected a year from {EARLIEST.year} to {LATEST.year - 1}")
    return math.floor(time.timestamp())


def _problems(cells: Cells) -> Iterator[tuple[str, str, str]]:
    """(field, rule, message) of everything that is wrong inside one row."""
    yield from _name_problems(cells)
    times = {}
    for name in ("entry_time", "exit_time", "decided_at"):
        if cells.get(name) or name != "decided_at":
            try:
                times[name] = parse_time(cells.get(name, ""))
            except ValueError as error:
                yield name, "time", str(error)
    if "entry_time" in times and times.get("exit_time", math.inf) <= times["entry_time"]:
        yield (
            "exit_time",
            "order",
            f"{cells['exit_time']} is not after the entry, expected later than {cells['entry_time']}",
        )
    if "entry_time" in times and times.get("decided_at", -math.inf) > times["entry_time"]:
        yield "decided_at", "order", f"{cells['decided_at']} is after the entry, expected at most {cells['entry_time']}"
    for name in ("entry_price", "exit_price", "stop_price", "target_price"):
        if cells.get(name) or name in ANNOTATION_REQUIRED:
            yield from _price_problems(name, cells.get(name, ""))
    yield from _limit_problems(cells)


def _name_problems(cells: Cells) -> Iterator[tuple[str, str, str]]:
    if not cells.get("annotation_id"):
        yield "annotation_id", "required", "is empty, expected a name of its own"
    if cells.get("side") not in SIDES:
        yield "side", "side", f"{cells.get('side', '')!r} is unknown, expected long or short"
    for name, read in (("symbol", symbol_dir), ("timeframe", timeframe_seconds)):
        try:
            read(cells.get(name, ""))
        except ValueError as error:
            yield name, name, str(error)


def _price_problems(name: str, text: str) -> Iterator[tuple[str, str, str]]:
    try:
        price = float(text)
    except ValueError:
        price = math.nan
    if not 0 < price < HIGHEST_PRICE or "_" in text:
        yield name, "price", f"{text!r} is no price, expected a number above 0 and below {HIGHEST_PRICE:g}"


def _limit_problems(cells: Cells) -> Iterator[tuple[str, str, str]]:
    """A long trade's stop is below its entry and its target above; a short trade's the other way round."""
    long = cells.get("side") == "long"
    for name, rule, above in (("stop_price", "stop", not long), ("target_price", "target", long)):
        try:
            entry, limit = float(cells.get("entry_price", "")), float(cells.get(name, ""))
        except ValueError:  # told by its own rule, or none
            continue
        if cells.get("side") in SIDES and 0 < limit < HIGHEST_PRICE and (limit <= entry if above else limit >= entry):
            where = "above" if above else "below"
            yield name, rule, f"{limit:g} of a {cells['side']} trade, expected {where} its entry of {entry:g}"


def _annotation(row: int, cells: Cells) -> Annotation:
    """One annotation from cells that have no problem."""
    stop, target = (float(cells[name]) if cells.get(name) else None for name in ("stop_price", "target_price"))
    return Annotation(
        row=row,
        annotation_id=cells["annotation_id"],
        symbol=cells["symbol"],
        timeframe=cells["timeframe"],
        side=cells["side"],
        entry_time=parse_time(cells["entry_time"]),
        entry_price=float(cells["entry_price"]),
        exit_time=parse_time(cells["exit_time"]),
        exit_price=float(cells["exit_price"]),
        decided_at=parse_time(cells.get("decided_at") or cells["entry_time"]),
        stop_price=stop,
        target_price=target,
        annotator=cells.get("annotator", ""),
        reviewed=cells.get("reviewed", ""),
        note=cells.get("note", ""),
    )
