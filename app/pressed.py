"""What came of a pressed button, said once on the next draw of its page."""

from collections.abc import Callable

import streamlit as st

from app.format import spoken
from app.orders import REFUSALS
from flows.errors import classify

SAID = "what came of the last press"


def carry_out(order: Callable[[], str]) -> bool:
    """Carries an order out and keeps its sentence, or that of its refusal; whether it was carried out."""
    try:
        st.session_state[SAID] = (True, order())
    except REFUSALS as error:
        st.session_state[SAID] = (False, classify(error).message)
    return bool(st.session_state[SAID][0])


def say() -> None:
    if said := st.session_state.pop(SAID, None):
        (st.info if said[0] else st.error)(spoken(said[1]))
