"""Validation of a data root: every broken rule with file, row and field, before anything is computed."""

from collections.abc import Iterator
from pathlib import Path

from dataset.annotations import Annotation, read_annotations
from dataset.candle_rules import candle_findings
from dataset.candles import Candles, read_frame, resample, source_path
from dataset.column_rules import number_findings, time_findings
from dataset.findings import Finding, errors, refuse
from dataset.schema import BOOK_COLUMNS, DatasetInfo, annotation_path, book_path, read_info
from dataset.trade_rules import overlap_findings, trade_findings

__all__ = ["Finding", "errors", "refuse", "validate"]


def validate(root: Path) -> list[Finding]:
    """Everything that is wrong with a data root; errors stop a build, warnings are shown."""
    try:
        info = read_info(root)
        file = annotation_path(root).name
        trades, found = read_annotations(root)
    except ValueError as error:
        return [Finding(root.name, None, "", "dataset", str(error))]
    if not trades and not errors(found):
        found.append(Finding(file, None, "", "empty", "holds no trade, expected at least one"))
    primaries, candle_found = _candles(root, info, trades)
    found += candle_found
    for trade in trades:
        found += _trade(file, trade, primaries, info)
    found += overlap_findings(file, trades)
    for symbol in sorted({info.primary, *(trade.symbol for trade in trades)}):
        found += _book(root, symbol)
    return found


def _candles(root: Path, info: DatasetInfo, trades: list[Annotation]) -> tuple[dict[str, Candles], list[Finding]]:
    """Usable primary candles by symbol, and the findings of every candle file that a stream is made of."""
    wanted = {(symbol, timeframe) for symbol in _symbols(root, info, trades) for timeframe in info.timeframes}
    wanted.add((info.reference, info.reference_timeframe))
    found: list[Finding] = []
    loaded: dict[Path, Candles | None] = {}
    primaries: dict[str, Candles] = {}
    for symbol, timeframe in sorted(wanted):
        try:
            path = source_path(root, symbol, timeframe)
        except ValueError as error:
            found.append(Finding("candles", None, "", "file", str(error)))
            continue
        if path not in loaded:
            loaded[path], problems = candle_findings(path, path.relative_to(root).as_posix())
            found += problems
        candles = loaded[path]
        if timeframe == info.timeframes[0] and candles is not None:
            primaries[symbol] = candles if path.stem == timeframe else resample(candles, timeframe)
    return primaries, found


def _symbols(root: Path, info: DatasetInfo, trades: list[Annotation]) -> set[str]:
    """The primary symbol and every annotated one that has candles."""
    known = {trade.symbol for trade in trades if _has_candles(root, trade.symbol, info.timeframes[0])}
    return {info.primary, *known}


def _has_candles(root: Path, symbol: str, timeframe: str) -> bool:
    try:
        source_path(root, symbol, timeframe)
    except ValueError:
        return False
    return True


def _trade(file: str, trade: Annotation, primaries: dict[str, Candles], info: DatasetInfo) -> Iterator[Finding]:
    candles = primaries.get(trade.symbol)
    if candles is not None:
        yield from trade_findings(file, trade, candles, info.timeframes[0])
    elif trade.symbol != info.primary:
        message = f"{trade.symbol} has no usable candles of {info.timeframes[0]}"
        yield Finding(file, trade.row, "symbol", "candles", message)


def _book(root: Path, symbol: str) -> Iterator[Finding]:
    """A book is optional; if there is one, its times grow and its sizes are at least 0."""
    path = book_path(root, symbol)
    if not path.is_file():
        return
    file = path.relative_to(root).as_posix()
    try:
        frame = read_frame(path, BOOK_COLUMNS)
    except ValueError as error:
        yield Finding(file, None, "", "file", str(error))
        return
    yield from time_findings(file, frame["time"])
    for name in BOOK_COLUMNS[1:]:
        yield from number_findings(file, frame[name], 0, above=False)
