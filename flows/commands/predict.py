"""`pivotline predict`: what a registered version says at a moment."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from flows.output import show, table

if TYPE_CHECKING:
    from flows.prediction import Prediction


def predict(
    at: Annotated[str, typer.Option(help="The moment, ISO-8601 with offset, such as 2025-01-20T10:00:00Z.")],
    version: Annotated[str, typer.Option(help="A version's number or champion.")] = "champion",
    symbol: Annotated[str, typer.Option(help="The dataset's primary symbol when left out.")] = "",
    dataset_version: Annotated[str, typer.Option(help="Another dataset than the one the version learnt from.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Say what a registered version would do at a moment, from what had closed by then."""
    from dataset.annotations import parse_time
    from flows.prediction import predict as ask

    said = ask(version, parse_time(at), symbol, dataset_version)
    show(asdict(said), as_json, lambda: lines(said))


def lines(said: "Prediction") -> list[str]:
    rows = [(name, f"{100 * share:.1f} %", "") for name, share in said.probabilities.items()]
    for candle in said.next_candles:
        rows.append(
            (f"next {candle.stream}", f"{candle.close:.6g}", f"close of the candle from {iso(candle.open_time)}")
        )
    for pivot in said.pivots:
        rows.append((f"pivot level {pivot.level}", f"{pivot.price:.6g}", f"in about {pivot.bars:.0f} bars"))
    held = f", in the open trade {said.held}" if said.held else ""
    return [
        f"version {said.version} says {said.action} for {said.symbol} at {iso(said.time)}{held}",
        f"seen until {iso(said.seen_until)}, last close {said.price:.6g}; trained on dataset {said.trained_on[:12]}",
        *table(rows, right=(1,)),
    ]


def iso(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
