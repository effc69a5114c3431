"""What the page reads of datasets, cached by version: a version names its bytes, so nothing cached goes stale."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from dataset.annotations import Annotation, by_entry, read_annotations
from dataset.candles import Candles, load
from dataset.config import PreprocessConfig
from dataset.describe import describe
from dataset.findings import Finding
from dataset.profile import profile as profile_of
from dataset.schema import DatasetInfo, read_info
from dataset.validate import validate
from flows import control
from flows.control import LibraryEntry

SENT_BARS = 1500  # each side of the middle: a window is sent, never the whole file


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Some candles of a stream, N of them, around a moment."""

    timeframe: str
    open_time: np.ndarray  # (N,) seconds since 1970
    values: np.ndarray  # (N, 5) open, high, low, close, volume
    middle: int  # the candle in progress at the moment

    @property
    def step_s(self) -> int:
        return Candles(self.timeframe, self.open_time, self.values).step_s

    def place(self, time: int) -> int:
        """The candle in progress at a time, else the last one before it; outside the window, its nearest end."""
        last = int(np.searchsorted(self.open_time, time, side="right")) - 1
        return min(max(last, 0), len(self.open_time) - 1)

    def visible(self, time: int) -> int:
        """The last candle that had closed at a time; -1 if none had."""
        return int(np.searchsorted(self.open_time + self.step_s, time, side="right")) - 1

    def holds(self, time: int) -> bool:
        return bool(self.open_time[0] <= time <= self.open_time[-1] + self.step_s)


@st.cache_data(ttl=5, show_spinner=False)
def library() -> list[LibraryEntry]:
    return control.library()


@st.cache_data(max_entries=8, show_spinner=False)
def info(version: str) -> DatasetInfo:
    """Raises ValueError when the version's files are not to be had or damaged."""
    return read_info(control.folder(version))


@st.cache_data(max_entries=8, show_spinner=False)
def trades(version: str) -> list[Annotation]:
    """The accepted trades in order of entry: a trade's place is its number everywhere."""
    return by_entry(read_annotations(control.folder(version))[0])


@st.cache_data(max_entries=8, show_spinner=False)
def findings(version: str) -> list[Finding]:
    return validate(control.folder(version))


@st.cache_data(max_entries=8, show_spinner=False)
def profile(version: str, config: PreprocessConfig) -> dict[str, Any]:
    return profile_of(control.folder(version), config)


@st.cache_data(max_entries=8, show_spinner=False)
def facts(version: str, config: PreprocessConfig) -> dict[str, Any]:
    """The samples that a version gives, counted by making them. Raises ValueError when it is not valid."""
    return describe(control.folder(version), config)


@st.cache_resource(max_entries=24, show_spinner=False)
def candles(version: str, symbol: str, timeframe: str) -> Candles:
    """A whole stream, shared by all viewers: nobody writes to it."""
    return load(control.folder(version), symbol, timeframe)


def window(version: str, symbol: str, timeframe: str, time: int) -> Window:
    """The candles around a time. Raises ValueError when there is no candle at all."""
    found = candles(version, symbol, timeframe)
    if not len(found.open_time):
        raise ValueError(f"{symbol} {timeframe} has no complete candle")
    at = int(np.clip(np.searchsorted(found.open_time, time, side="right") - 1, 0, len(found.open_time) - 1))
    first = max(0, at - SENT_BARS)
    part = slice(first, at + SENT_BARS)
    return Window(timeframe, found.open_time[part], found.values[part], at - first)
