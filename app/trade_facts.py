"""One trade in words and numbers."""

from datetime import UTC, datetime

from app.format import MISSING, duration, percent, plain, several, when
from dataset.annotations import Annotation
from dataset.schema import timeframe_seconds


def at(seconds: int | None) -> str:
    """`28 Nov 2026, 14:10 UTC` of seconds since 1970."""
    return MISSING if seconds is None else when(datetime.fromtimestamp(seconds, UTC).isoformat())


def price(value: float) -> str:
    """With the decimals it was written with, two at least."""
    places = len(repr(float(value)).partition(".")[2]) if abs(value) < 1e15 else 0
    return f"{value:,.{min(max(places, 2), 8)}f}"


def facts(trade: Annotation) -> dict[str, str]:
    """What is known of a trade; text that people wrote is escaped."""
    bar_s = timeframe_seconds(trade.timeframe)
    bars = (trade.exit_time - trade.entry_time) / bar_s
    gain = trade.direction * (trade.exit_price / trade.entry_price - 1)
    found = {
        "Side": f"{trade.side}, {plain(trade.symbol)} {trade.timeframe}",
        "Entry": f"{price(trade.entry_price)} at {at(trade.entry_time)}",
        "Exit": f"{price(trade.exit_price)} after {several(round(bars), 'bar')}, {duration(bars * bar_s)}",
        "Result": f"{percent(abs(gain))} {'gained' if gain > 0 else 'lost' if gain < 0 else 'gained or lost'}",
        "Stop": stop(trade),
        "Decided": decided(trade, bar_s),
    }
    if trade.target_price is not None:
        found["Target"] = price(trade.target_price)
    written = {"Annotator": trade.annotator, "Reviewed": trade.reviewed, "Note": trade.note}
    return found | {name: plain(text) for name, text in written.items() if text}


def stop(trade: Annotation) -> str:
    if trade.stop_price is None:
        return MISSING
    return f"{price(trade.stop_price)}, {percent(abs(trade.stop_price / trade.entry_price - 1))} away"


def decided(trade: Annotation, bar_s: int) -> str:
    bars = (trade.entry_time - trade.decided_at) / bar_s
    return "at the entry" if not bars else f"{bars:,.3g} bars before the entry"
