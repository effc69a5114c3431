"""A question to a version: its moment, its answer in words, kept while the page is drawn again."""

from collections.abc import Iterator
from datetime import UTC, datetime

import streamlit as st

from app.format import duration, percent, plain, several
from app.orders import REFUSALS
from app.trade_facts import at, price
from dataset.annotations import EARLIEST, LATEST, Annotation
from flows import control
from flows.control import Judgement, Prediction, VersionView
from flows.errors import classify

__all__ = ["REFUSALS", "facts", "judgement", "moments", "parse", "predict", "sentence"]


def sentence(error: Exception) -> str:
    return f"{classify(error).message.splitlines()[0]}."


@st.cache_data(max_entries=200, ttl=600, show_spinner=False)
def predict(version: int, time: int, symbol: str, source: str) -> Prediction:
    """A version and a dataset version name what they hold, so an answer stays true."""
    return control.predict(version, time, symbol, source)


@st.cache_data(max_entries=20, ttl=600, show_spinner=False)
def told(run_id: str) -> Judgement:
    return control.judgement(run_id)


def judgement(version: VersionView) -> Judgement | str:
    """The test split of a version's run, or the sentence that says why it is not to be had."""
    try:
        return told(version.run_id)
    except REFUSALS as error:
        return classify(error).message


def parse(text: str, otherwise: int) -> int:
    """Seconds since 1970 of a time that is UTC unless it says otherwise; `otherwise` for what is no time."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return otherwise
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return int(found.timestamp()) if EARLIEST <= found < LATEST else otherwise


def moments(trade: Annotation) -> Iterator[tuple[str, int]]:
    yield "entry", trade.decided_at
    yield "exit", trade.exit_time


def facts(said: Prediction, trades: list[Annotation]) -> dict[str, str]:
    """The answer in prices and times; what the kind of network does not answer is left out."""
    found = {"Seen until": at(said.seen_until), "Last close": price(round(said.price, 8))}
    for candle in said.next_candles[:1]:
        found[f"Next {candle.stream.rpartition(' ')[2]} close"] = change(candle.close, said.price)
    for pivot in said.pivots:
        found[f"Level {pivot.level} pivot"] = f"{pivot.price:,.2f} in {several(round(pivot.bars), 'bar')}"
    if said.price_return is not None:
        end = said.price * (1 + said.price_return)
        found[f"In {said.horizon_bars} bars"] = change(end, said.price)
    if said.confidence is not None:
        found["Expects to be right"] = percent(said.confidence)
    if said.trade_success is not None:
        found["Trade success"] = percent(said.trade_success)
    return found | {"Annotated here": annotated(said, trades), "Position": held(said, trades)}


def change(value: float, now: float) -> str:
    """A price and how far it is from now."""
    share = value / now - 1
    return f"{value:,.2f} ({'+' if share >= 0 else '−'}{100 * abs(share):.2f} %)"


def annotated(said: Prediction, trades: list[Annotation]) -> str:
    for trade in trades:
        if trade.symbol != said.symbol:
            continue
        buys = {"entry": "buy" if trade.direction > 0 else "sell", "exit": "sell" if trade.direction > 0 else "buy"}
        for word, time in moments(trade):
            if time == said.time:
                return f"{buys[word]}, the {word} of {plain(trade.annotation_id)}"
        if trade.entry_time < said.time < trade.exit_time:
            return f"hold, inside {plain(trade.annotation_id)}"
    return "nothing"


def held(said: Prediction, trades: list[Annotation]) -> str:
    """The position that was assumed, as the samples of a training have it."""
    trade = next((one for one in trades if one.annotation_id == said.held), None)
    if trade is None:
        return "flat"
    return f"{trade.side} for {duration(said.time - trade.entry_time)}"
