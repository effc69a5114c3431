"""The dataset versions that are known, and where from."""

import streamlit as st

from app.format import MISSING, several, short, tag
from flows.control import LibraryEntry

NAMED = 3  # places of one version that are spelled out


def title(entry: LibraryEntry) -> str:
    """A version in a chooser."""
    trades = several(entry.trades, "trade") if entry.trades is not None else ""
    state = "in data/" if entry.current else "" if entry.restorable else "files not here"
    return " · ".join(word for word in (short(entry.version), entry.name, trades, state) if word)


def show(known: list[LibraryEntry]) -> None:
    st.subheader(f"{several(len(known), 'version')} known to data/, git, runs and DVC", anchor=False)
    text = st.column_config.TextColumn
    st.dataframe(
        {
            "Version": [short(entry.version) for entry in known],
            "Dataset": [entry.name or MISSING for entry in known],
            "Trades": [entry.trades for entry in known],
            "State": [state(entry) for entry in known],
            "Named by": [named(entry) for entry in known],
        },
        hide_index=True,
        placeholder=MISSING,
        column_config={
            "Version": text(),
            "Dataset": text(),
            "Trades": st.column_config.NumberColumn(width=80),
            "State": text(),
            "Named by": text(width=460),
        },
    )


def state(entry: LibraryEntry) -> str:
    """Whether a version is in use, can be put in use, or is only a name here."""
    if entry.current:
        return "in data/"
    return "in the DVC cache" if entry.restorable else "files not here"


def named(entry: LibraryEntry) -> str:
    seen = [f"run {tag(place)}" if place.startswith("run ") else place for place in entry.seen[:NAMED]]
    places = [*(["data.dvc"] if entry.tracked else []), *seen]
    more = len(entry.seen) - NAMED
    return ", ".join([*places, *([f"{more} more"] if more > 0 else [])]) or MISSING
