"""Samples: what the model learns from, one for each decision of each annotated trade.

Legend: B samples, T streams, S candles of a window. The fields are the border between data and model.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dataset.annotations import Annotation, by_entry, read_annotations
from dataset.archive import load_samples, save_samples
from dataset.config import PreprocessConfig
from dataset.enough import decisions, history_findings, needed, there
from dataset.labels import future_labels
from dataset.moments import ENTRY, KINDS, NO_TRADE, Moment, action
from dataset.observation import Market, last_close, load_market, observe
from dataset.position import flat, position_state
from dataset.report import Refused, report
from dataset.schema import read_info
from dataset.split import split
from dataset.validate import refuse, validate

__all__ = ["PreprocessConfig", "build", "load_samples", "save_samples"]

Arrays = dict[str, np.ndarray]
CHUNK = 64  # samples that are observed at once, to bound the memory of the windows


def build(
    root: Path, config: PreprocessConfig, progress: Callable[[int, int], None] | None = None
) -> tuple[Arrays, dict[str, Any]]:
    """Unscaled samples of a data root, trade by trade, with their split; and a report of counts.

    progress: called with (samples done, samples in all). Trades are numbered in order of entry.
    Raises ValueError with every finding if the data is not valid, or if no sample has enough history.
    """
    findings = validate(root)
    refuse(findings)
    info = read_info(root)
    trades = by_entry(read_annotations(root)[0])
    parts: list[Arrays] = []
    refused: list[Refused] = []
    done = 0
    for symbol in sorted({trade.symbol for trade in trades}):
        market = load_market(root, info, symbol)
        wanted = decisions(market.streams[0], trades, symbol, config)
        for start in range(0, len(wanted), CHUNK):
            kept = _with_history(market, trades, wanted[start : start + CHUNK], config, refused)
            parts.append(_samples(market, trades, kept, config))
            done += len(wanted[start : start + CHUNK])
            if progress is not None:
                progress(done, len(trades) * config.samples_per_trade)
    if not any(len(part["trade"]) for part in parts):
        raise ValueError(f"no sample has enough history: {history_findings(root, config)[0].message}")
    arrays = _join(parts)
    embargo_s = config.embargo_bars * market.streams[0].step_s
    arrays["split"], counts = split(arrays, config.train_fraction, config.validation_fraction, embargo_s)
    return arrays, report(info, market.names, trades, config, arrays, counts, refused, findings)


def _with_history(
    market: Market, trades: list[Annotation], wanted: list[Moment], config: PreprocessConfig, refused: list[Refused]
) -> list[Moment]:
    """The decisions whose windows are long enough; the others are noted in `refused`."""
    times = np.array([moment.time for moment in wanted])
    least = needed(config)
    kept = []
    for moment, counts in zip(wanted, there(market.streams, times, config.seq_len).T, strict=True):
        short = int(counts.argmin())
        if counts[short] >= least:
            kept.append(moment)
        else:
            reason = f"{market.names[short]} has {counts[short]} candles of the window, expected {least}"
            refused.append(Refused(trades[moment.trade].annotation_id, KINDS[moment.kind], reason))
    return kept


def _samples(market: Market, trades: list[Annotation], kept: list[Moment], config: PreprocessConfig) -> Arrays:
    """The arrays of one chunk: features, position, labels and where they come from."""
    times = np.array([moment.time for moment in kept], np.int64)
    own = [trades[moment.trade] for moment in kept]
    close = last_close(market.streams[0], times)
    labels, ends = future_labels(
        market, times, config.horizon_bars, config.pivot_bars, config.pivot_levels, config.pivot_horizon_bars
    )
    in_trade = np.array([moment.kind != NO_TRADE for moment in kept], bool)
    exits = np.array([trade.exit_time for trade in own], np.int64)
    success = np.array([float(trade.in_profit) for trade in own])
    step_s = market.streams[0].step_s
    states = [_position(*item, step_s) for item in zip(own, kept, close, strict=True)]
    return {
        **observe(market, times, config.seq_len, config.book_max_age_bars),
        "position_state": np.array(states, np.float32).reshape(len(kept), len(flat())),
        "actions": np.array([action(trade, moment.kind) for trade, moment in zip(own, kept, strict=True)], np.int64),
        **labels,
        "trade_success": np.where(in_trade, success, np.nan).astype(np.float32)[:, None],
        "decision_time": times,
        "decision_price": close,
        "label_end_time": np.where(in_trade, np.maximum(ends, exits), ends),
        "trade": np.array([moment.trade for moment in kept], np.int64),
        "kind": np.array([moment.kind for moment in kept], np.int64),
    }


def _position(trade: Annotation, moment: Moment, close: float, step_s: int) -> np.ndarray:
    """(5,) flat before a trade, open inside it and at its exit."""
    if moment.kind in (ENTRY, NO_TRADE):
        return flat()
    bars_held = (moment.time - trade.entry_time) / step_s
    return position_state(trade.direction, trade.entry_price, trade.stop_price, bars_held, close)


def _join(parts: list[Arrays]) -> Arrays:
    """All chunks as one, in order of trade and then of decision as they were made."""
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["trade"], kind="stable")
    return {name: values[order] for name, values in joined.items()}
