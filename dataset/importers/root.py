"""An import as a whole: everything is checked in a folder beside the target, then put in its place at once."""

import shutil
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dataset.candle_rules import candle_findings
from dataset.config import PreprocessConfig
from dataset.enough import history_findings
from dataset.findings import Finding, errors, refuse
from dataset.importers.annotations import ImportedAnnotations, read_annotation_file, write_annotations
from dataset.importers.candles import CandleSource, ImportedCandles, read_candles
from dataset.importers.place import check_target, put_in_place
from dataset.parquet import utc_times, write_columns
from dataset.schema import CANDLE_COLUMNS, DatasetInfo, candle_path, write_info
from dataset.validate import validate

MOST_TOLD = 200  # findings of a report


def import_dataset(
    target: Path,
    annotations: Path,
    candles: list[CandleSource],
    primary: str,
    reference: str,
    timeframes: Sequence[str],
    name: str,
    *,
    reference_timeframe: str = "",
    replace: bool = False,
    skip_rejected: bool = False,
    simulated: bool = False,
    book: Path | None = None,
    now_s: float | None = None,
    config: PreprocessConfig | None = None,
) -> dict[str, Any]:
    """Make a data root of a user's files and return what was taken.

    reference_timeframe: the first of `timeframes` if empty. replace: an older data root at `target` gives way.
    skip_rejected: trades that break a rule are left out and reported, instead of stopping the import.
    simulated: the candles are not of a real market. book: a folder of order books to take over.
    now_s: candles that close later are unfinished; the clock if None.
    config: how samples would be made, to warn where the candles do not reach far enough back for one.

    Raises ValueError with every finding, the first of them first, and leaves `target` as it was.
    """
    info = DatasetInfo(
        name=name,
        simulated=simulated,
        primary=primary,
        reference=reference,
        timeframes=tuple(timeframes),
        reference_timeframe=reference_timeframe or timeframes[0],
    )
    check_target(target, replace)
    check_sources(candles)
    trades = read_annotation_file(annotations)
    read = [read_candles(source, time.time() if now_s is None else now_s) for source in candles]
    found = [finding for _, findings in read for finding in findings]
    refuse(found if skip_rejected else trades.findings + found)
    parent = target.resolve().parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.import-", dir=parent) as folder:
        staged = Path(folder) / "data"
        imported = [candles_of for candles_of, _ in read]
        trades, warnings = stage(staged, info, trades, imported, skip_rejected, book)
        warnings += history_findings(staged, config) if config else []
        put_in_place(staged, target)
    return report(target, info, trades, imported, found + warnings)


def check_sources(candles: list[CandleSource]) -> None:
    """Raises ValueError if two files are given for the same candles: which to believe would be a guess."""
    seen: dict[tuple[str, str], Path] = {}
    for source in candles:
        first = seen.setdefault((source.symbol, source.timeframe), source.path)
        if first is not source.path:
            what = f"{source.symbol} {source.timeframe}"
            raise ValueError(f"{first.name} and {source.path.name} are both given for {what}, expected one file")


def stage(
    root: Path,
    info: DatasetInfo,
    trades: ImportedAnnotations,
    candles: list[ImportedCandles],
    skip_rejected: bool,
    book: Path | None,
) -> tuple[ImportedAnnotations, list[Finding]]:
    """Write and validate a whole data root; return the trades that stayed and the warnings.

    Raises ValueError with every finding, told of the user's files.
    """
    root.mkdir()
    write_info(root, info)
    if book is not None and book.is_dir():
        shutil.copytree(book, root / "book")
    origin = {}
    found: list[Finding] = []
    for imported in candles:
        path = candle_path(root, imported.source.symbol, imported.source.timeframe)
        write_candles(path, imported)
        origin[path.relative_to(root).as_posix()] = imported
        found += [imported.located(finding) for finding in candle_findings(path, "")[1]]
    refuse(found if trades.accepted else trades.findings + found)
    write_annotations(root / "annotations.csv", trades.accepted)
    own = _located(validate(root), trades, origin)
    misfits = [finding for finding in errors(own) if finding.file == trades.path.name and finding.row is not None]
    if skip_rejected and misfits:
        trades = trades.without(misfits)
        refuse([] if trades.accepted else trades.findings)
        write_annotations(root / "annotations.csv", trades.accepted)
        own = _located(validate(root), trades, origin)
    refuse(own)
    return trades, list(dict.fromkeys(found + own))


def write_candles(path: Path, imported: ImportedCandles) -> None:
    """Candles as a file of a data root."""
    columns: dict[str, Any] = {"open_time": utc_times(imported.candles.open_time)}
    columns |= dict(zip(CANDLE_COLUMNS[1:], imported.candles.values.T, strict=True))
    write_columns(path, columns)


def report(
    target: Path,
    info: DatasetInfo,
    trades: ImportedAnnotations,
    candles: list[ImportedCandles],
    warnings: list[Finding],
) -> dict[str, Any]:
    """What went in and what came of it, as plain values for JSON."""
    sides = [cells["side"] for _, cells in trades.accepted]
    return {
        "target": str(target),
        "name": info.name,
        "rows": trades.total,
        "trades": len(trades.accepted),
        "rejected": trades.rejected,
        "long": sides.count("long"),
        "short": sides.count("short"),
        "candles": [_candle_report(imported) for imported in candles],
        "rejections": told(trades.findings),
        "warnings": [str(finding) for finding in warnings],
    }


def told(findings: list[Finding]) -> list[str]:
    """Findings as lines, as many as anyone reads, the last of them with how many more there are."""
    lines = [str(finding) for finding in findings[:MOST_TOLD]]
    more = len(findings) - len(lines)
    return lines + ([f"… and {several_more(more)}"] if more else [])


def several_more(count: int) -> str:
    return f"{count:,} more like these" if count > 1 else "one more like these"


def _candle_report(imported: ImportedCandles) -> dict[str, Any]:
    candles = imported.candles
    first, last = (datetime.fromtimestamp(int(candles.open_time[place]), UTC) for place in (0, -1))
    return {
        "symbol": imported.source.symbol,
        "timeframe": imported.source.timeframe,
        "file": imported.source.path.name,
        "rows": len(candles.open_time) + imported.unfinished,
        "accepted": len(candles.open_time),
        "rejected": imported.unfinished,
        "times": imported.meaning,
        "first": first.isoformat(),
        "last": last.isoformat(),
    }


def _located(findings: list[Finding], trades: ImportedAnnotations, origin: dict[str, ImportedCandles]) -> list[Finding]:
    """Findings about our files, told of the user's."""
    told = []
    for finding in findings:
        if finding.file == "annotations.csv":
            finding = trades.located(finding)
        elif finding.file in origin:
            finding = origin[finding.file].located(finding)
        told.append(finding)
    return told
