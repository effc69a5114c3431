"""The shape of a dataset: when its trades are, how long they last, and which candles and books cover them."""

from datetime import date
from typing import Any

import streamlit as st

from app import histogram
from app.format import count, several
from app.trade_facts import at

MONTH = {"day": "%-d %b", "week": "%-d %b", "month": "%b %Y"}


def show(shape: dict[str, Any], made: dict[str, Any] | None) -> None:
    """`shape` is a profile; `made` tells of the samples, if there are any."""
    left, middle, right = st.columns(3, gap="medium")
    entries = [(f"{date.fromisoformat(start):{MONTH[shape['period']]}}", number) for start, number in shape["entries"]]
    if made:
        small(left, "Samples by action", list(made["samples_by_action"].items()), "actions")
    small(middle, "Trades by bars held", shape["holding"], "holding")
    small(right, f"Trades by {shape['period']} of entry", entries, "entries")
    st.markdown(" ".join([*sentences(shape), *(sample_sentences(made) if made else [])]))
    st.dataframe(
        {
            "Stream": [f"{row['symbol']} {row['timeframe']}" for row in shape["candles"]],
            "From": [at(row["first"]) for row in shape["candles"]],
            "To": [at(row["last"]) for row in shape["candles"]],
            "Candles": [count(row["bars"]) for row in shape["candles"]],
            "Missing": [count(row["missing"]) for row in shape["candles"]],
            "Made from": [source(row) for row in shape["candles"]],
        },
        hide_index=True,
        column_config={name: st.column_config.TextColumn(alignment="right") for name in ("Candles", "Missing")},
    )


def small(place: Any, title: str, rows: list[tuple[str, int]], key: str) -> None:
    with place:
        st.subheader(title, anchor=False)
        st.echarts_chart(histogram.bars(rows), height=histogram.HEIGHT, key=key, alt=title)


def sample_sentences(made: dict[str, Any]) -> list[str]:
    splits = ", ".join(f"{made['split'][name]} {name}" for name in ("train", "validation", "test"))
    return [
        f"The samples are split by time into {splits}, with {made['split']['purged']} purged between them.",
        f"{several(len(made['refused']), 'sample')} could not be made." if made["refused"] else "",
    ]


def sentences(shape: dict[str, Any]) -> list[str]:
    """Holding time, overlaps and the book, each in a sentence."""
    overlaps, book = shape["overlaps"], shape["book"]
    return [
        f"Half of the trades last at most {shape['median_bars']:,.0f} bars.",
        f"{several(overlaps, 'trade')} {'begins' if overlaps == 1 else 'begin'} before another one ends."
        if overlaps
        else "No two trades of a symbol overlap.",
        f"{several(book['snapshots'], 'snapshot')} of the order book from {at(book['first'])} to {at(book['last'])}: "
        f"{book['trades']} of {sum(held for _, held in shape['holding'])} trades have a fresh one when decided."
        if book
        else "There is no order book: its features are masked.",
    ]


def source(row: dict[str, Any]) -> str:
    return "its own file" if row["made_from"] == row["timeframe"] else f"the {row['made_from']} file"
