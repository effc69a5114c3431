"""The moment that Predict asks about: of the address, typed, or of a trade. It is kept in the address."""

from collections.abc import Mapping
from datetime import UTC, datetime

import streamlit as st

from app import asking
from app.format import plain

FORM = "%Y-%m-%d %H:%M"
LIKE = "expected one like 2026-11-28 14:10, UTC."
NO_TIME = "what was typed and is no time"
TYPED, JUMP = "typed time", "jump"  # the inputs


def choose(moments: Mapping[str, int], start: int) -> int:
    """Draws the inputs and returns the moment in seconds since 1970, `start` where the address names none."""
    wanted = st.query_params.get("time", "")
    time = asking.parse(wanted, start)
    if wanted and asking.parse(wanted, -1) < 0:
        st.warning(f"The link's time {plain(wanted)} is none; {LIKE}")
    if wrong := st.session_state.pop(NO_TIME, ""):
        st.warning(f"{plain(wrong)} is no time; {LIKE}")

    def jumped() -> None:
        if st.session_state[JUMP]:
            open_time(moments[st.session_state[JUMP]])
            st.session_state[JUMP] = None

    st.session_state[TYPED] = f"{datetime.fromtimestamp(time, UTC):{FORM}}"
    st.text_input("Time, UTC", key=TYPED, max_chars=25, width=170, on_change=typed)
    st.selectbox("Go to", list(moments), index=None, placeholder="a trade", key=JUMP, on_change=jumped, width=170)
    return time


def typed() -> None:
    time = asking.parse(st.session_state[TYPED], -1)
    if time < 0:
        st.session_state[NO_TIME] = st.session_state[TYPED]
    else:
        open_time(time)


def open_time(time: int) -> None:
    st.query_params["time"] = f"{datetime.fromtimestamp(time, UTC):{FORM}}"
