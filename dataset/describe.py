"""A data root in numbers: its trades, the samples they give and the streams they are made of."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dataset.annotations import read_annotations
from dataset.config import PreprocessConfig
from dataset.samples import build
from dataset.schema import read_info
from dataset.versions import version


def describe(root: Path, config: PreprocessConfig) -> dict[str, Any]:
    """Facts of a data root, ready for JSON; the samples are counted by making them, so the counts are those of a run.

    Raises ValueError if the data is not valid.
    """
    info = read_info(root)
    report = build(root, config)[1]
    trades, _ = read_annotations(root)
    split = report["split"]
    return {
        "name": info.name,
        "simulated": info.simulated,
        "version": version(root),
        "trades": len(trades),
        "long": report["long"],
        "short": report["short"],
        "in_profit": sum(trade.in_profit for trade in trades),
        "first_entry": _iso(min(trade.entry_time for trade in trades)),
        "last_exit": _iso(max(trade.exit_time for trade in trades)),
        "symbols": sorted({info.primary, info.reference, *(trade.symbol for trade in trades)}),
        "streams": report["streams"],
        "samples": report["samples"],
        "samples_by_kind": report["samples_by_kind"],
        "samples_by_action": report["samples_by_action"],
        "split": {name: split[name] for name in ("train", "validation", "test", "purged")},
        "samples_with_book": report["with_book"],
        "refused": [f"{entry['annotation_id']} {entry['kind']}: {entry['reason']}" for entry in report["refused"]],
        "warnings": report["warnings"],
    }


def _iso(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
