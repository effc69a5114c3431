"""The annotated trades of the simulated market, as a person would have clicked them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from dataset.simulate.noise import Ints, uniform
from dataset.simulate.plan import Swing

TICKS_PER_UNIT = 10  # the primary symbol moves in tenths


def marks(seed: int, plan: list[Swing], bars: dict[str, Ints], start: datetime, symbol: str) -> list[dict[str, Any]]:
    """One annotation row a swing: times are the close of the clicked bar, prices lie inside that bar."""
    entries = _clicked(seed, 80, [swing.entry for swing in plan], bars)
    exits = _clicked(seed, 81, [swing.exit for swing in plan], bars)
    rows = []
    for number, (swing, entry, exit_) in enumerate(zip(plan, entries, exits, strict=True), start=1):
        rows.append(
            {
                "annotation_id": f"sim-{number:03d}",
                "symbol": symbol,
                "timeframe": "1m",
                "side": "long" if swing.direction > 0 else "short",
                "entry_time": _closed(start, swing.entry),
                "entry_price": entry / TICKS_PER_UNIT,
                "exit_time": _closed(start, swing.exit),
                "exit_price": exit_ / TICKS_PER_UNIT,
                "decided_at": _closed(start, swing.entry),
                "stop_price": (entry - swing.direction * swing.stop_distance) / TICKS_PER_UNIT,
                "annotator": "simulated",
                "note": "simulated trade, not a real market",
            }
        )
    return rows


def _clicked(seed: int, stream: int, clicked: list[int], bars: dict[str, Ints]) -> list[int]:
    """A price (ticks) inside each clicked bar, in its half nearer to the close."""
    places = uniform(seed, stream, len(clicked), 0, 4)
    prices = []
    for bar, place in zip(clicked, places, strict=True):
        open_, close = int(bars["open"][bar]), int(bars["close"][bar])
        prices.append(close + (open_ - close) * int(place) // 8)
    return prices


def _closed(start: datetime, bar: int) -> str:
    return (start + timedelta(minutes=bar + 1)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
