"""Whether candles reach far enough back: a sample needs a share of the candles of each of its windows.

Legend: B decisions, T streams.
"""

from pathlib import Path

import numpy as np

from dataset.annotations import Annotation, by_entry, read_annotations
from dataset.candles import Candles, source_path
from dataset.config import PreprocessConfig
from dataset.findings import Finding
from dataset.moments import Moment, moments
from dataset.observation import load_streams
from dataset.schema import DatasetInfo, read_info
from dataset.windows import window_indices


def needed(config: PreprocessConfig) -> int:
    """Candles that a window must hold."""
    return max(1, int(np.ceil(config.min_history * config.seq_len)))


def there(streams: tuple[Candles, ...], times: np.ndarray, seq_len: int) -> np.ndarray:
    """(T, B) candles in the window of each stream at each time (B,)."""
    return np.stack([(window_indices(stream, times, seq_len) >= 0).sum(axis=1) for stream in streams])


def decisions(primary: Candles, trades: list[Annotation], symbol: str, config: PreprocessConfig) -> list[Moment]:
    """The decisions on one symbol; each keeps the number of its trade among all trades."""
    own = [number for number, trade in enumerate(trades) if trade.symbol == symbol]
    found = moments(
        [trades[number] for number in own],
        primary.step_s,
        int(primary.close_time[0]),
        holds=config.holds_per_trade,
        no_trades=config.no_trades_per_trade,
        gap_bars=config.no_trade_gap_bars,
    )
    return [Moment(moment.time, own[moment.trade], moment.kind) for moment in found]


def history_findings(root: Path, config: PreprocessConfig) -> list[Finding]:
    """Where no decision at all has enough history, which stops every training, the streams that are too short.

    `root` must be valid.
    """
    info = read_info(root)
    trades = by_entry(read_annotations(root)[0])
    found = []
    for symbol in sorted({trade.symbol for trade in trades}):
        try:
            streams = load_streams(root, info, symbol)[1]
        except ValueError as error:
            return [Finding(root.name, None, "", "history", str(error))]
        times = np.array([moment.time for moment in decisions(streams[0], trades, symbol, config)])
        counts = there(streams, times, config.seq_len)
        if (counts >= needed(config)).all(axis=0).any():
            return []
        found += [_finding(root, info, symbol, place, counts, needed(config)) for place in _short(counts, config)]
    return found


def _short(counts: np.ndarray, config: PreprocessConfig) -> list[int]:
    """The streams that no window finds long enough, the shortest first; else the one that is too short most often."""
    most = counts.max(axis=1)
    short = [int(place) for place in np.argsort(most, kind="stable") if most[place] < needed(config)]
    return short or [int((counts < needed(config)).sum(axis=1).argmax())]


def _finding(root: Path, info: DatasetInfo, symbol: str, place: int, counts: np.ndarray, wanted: int) -> Finding:
    last = place == len(info.timeframes)
    of, timeframe = (info.reference, info.reference_timeframe) if last else (symbol, info.timeframes[place])
    file = source_path(root, of, timeframe).relative_to(root).as_posix()
    message = f"{of} {timeframe} has at most {counts[place].max()} candles of a window, expected {wanted}"
    return Finding(file, None, "", "history", f"{message}: {_remedy(of, timeframe, place > 0 and not last)}")


def _remedy(symbol: str, timeframe: str, can_go: bool) -> str:
    leave = f"leave {timeframe} out of the timeframes, " if can_go else ""
    own = "its own candles" if can_go else "candles that begin earlier"
    return f"{leave}give {own} with --candles {symbol}:{timeframe}=FILE, or lower preprocess.min_history"
