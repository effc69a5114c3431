"""The report of a build: what was made of the annotations, and what was left out and why."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dataset.annotations import Annotation
from dataset.config import PreprocessConfig
from dataset.findings import Finding
from dataset.moments import ACTIONS, KINDS
from dataset.schema import DatasetInfo


@dataclass(frozen=True, slots=True)
class Refused:
    """A sample that could not be made."""

    annotation_id: str
    kind: str
    reason: str


def report(
    info: DatasetInfo,
    streams: tuple[str, ...],
    trades: list[Annotation],
    config: PreprocessConfig,
    arrays: dict[str, np.ndarray],
    split: dict[str, Any],
    refused: list[Refused],
    findings: list[Finding],
) -> dict[str, Any]:
    """Counts of a build, ready for JSON; `trades` lists the annotation behind each trade number."""
    homeless = _homeless(trades, config, arrays, refused)
    return {
        "dataset": info.name,
        "simulated": info.simulated,
        "streams": list(streams),
        "trades": [trade.annotation_id for trade in trades],
        "long": sum(trade.direction > 0 for trade in trades),
        "short": sum(trade.direction < 0 for trade in trades),
        "samples": len(arrays["trade"]),
        "samples_by_kind": _counts(KINDS, arrays["kind"]),
        "samples_by_action": _counts(ACTIONS, arrays["actions"]),
        "split": split,
        "refused": [asdict(entry) for entry in (*refused, *homeless)],
        **_empty_places(streams, arrays["price_data"]),
        "with_book": int((~np.isnan(arrays["cob_data"][..., 0])).any(axis=1).sum()),
        "labels": {name: int((~np.isnan(arrays[name])).any(axis=axes).sum()) for name, axes in _LABEL_AXES.items()},
        "warnings": [str(finding) for finding in findings],
    }


_LABEL_AXES: dict[str, tuple[int, ...]] = {
    "future_prices": (),
    "next_candles": (1, 2),
    "pivots": (1, 2),
    "trade_success": (1,),
}


def _counts(names: tuple[str, ...], numbers: np.ndarray) -> dict[str, int]:
    return {name: int(np.count_nonzero(numbers == number)) for number, name in enumerate(names)}


def _homeless(
    trades: list[Annotation], config: PreprocessConfig, arrays: dict[str, np.ndarray], refused: list[Refused]
) -> list[Refused]:
    """Samples that found no time: holds in a trade that is too short, no-trades without calm before them."""
    made = Counter((int(trade), KINDS[kind]) for trade, kind in zip(arrays["trade"], arrays["kind"], strict=True))
    known = Counter((entry.annotation_id, entry.kind) for entry in refused)
    wanted = {"hold": config.holds_per_trade, "no-trade": config.no_trades_per_trade}
    return [
        Refused(trade.annotation_id, kind, "there is no time for it")
        for number, trade in enumerate(trades)
        for kind, count in wanted.items()
        for _ in range(count - made[number, kind] - known[trade.annotation_id, kind])
    ]


def _empty_places(streams: tuple[str, ...], price_data: np.ndarray) -> dict[str, Any]:
    """Places of the windows (B, T, S, 5) without a candle: before the history, and in gaps after its start."""
    empty = np.isnan(price_data[..., 0])  # (B, T, S)
    before = np.logical_and.accumulate(empty, axis=2)
    gaps = empty & ~before
    return {
        "padded_samples": int(before.any(axis=(1, 2)).sum()),
        "padded_bars": dict(zip(streams, before.sum(axis=(0, 2)).tolist(), strict=True)),
        "gap_samples": int(gaps.any(axis=(1, 2)).sum()),
        "gap_bars": dict(zip(streams, gaps.sum(axis=(0, 2)).tolist(), strict=True)),
    }
