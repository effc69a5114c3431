"""A run that ended before its time: how its cancel went, line by line, and the ways to go on with it."""

from collections.abc import Callable
from datetime import UTC, datetime

import streamlit as st

from app import backend, orders
from app.format import plain, spoken
from flows.control import Accepted
from flows.errors import classify
from flows.runview import RunView

DEAD = ("failed", "crashed", "cancelled")
REFUSED = "why a run was not revived"
PROOF_S = 30.0  # within which the last lines of a proof come


def revive(view: RunView, closed: bool) -> None:
    """Buttons that go on from the newest complete checkpoint, or from the start."""
    if view.state not in DEAD:
        return
    why = "Prefect does not answer." if closed else None
    if view.resumable_step is not None:
        button(f"Resume from update {view.resumable_step:,}", "resume", backend.resume, view, why)
    button("Retry", "retry", backend.retry, view, why or "Trains from the start.")


def button(words: str, key: str, order: Callable[[str], Accepted], view: RunView, help: str | None) -> None:
    closed = help is not None and help.startswith("Prefect")
    st.button(words, key=key, disabled=closed, help=help, on_click=send, args=(order, view.run_id))


def send(order: Callable[[str], Accepted], run_id: str) -> None:
    """Gives the order; a second press finds the run queued and is refused by it."""
    st.session_state.pop(REFUSED, None)
    try:
        order(run_id)
    except orders.REFUSALS as error:
        st.session_state[REFUSED] = run_id, classify(error).message
    st.query_params["run"] = run_id


def is_proved(view: RunView) -> bool:
    """Whether no line of a cancel can come any more."""
    if not view.proof or view.ended_at is None:
        return True
    return (datetime.now(UTC) - datetime.fromisoformat(view.ended_at)).total_seconds() > PROOF_S


def proof(view: RunView) -> None:
    """The lines of a cancel as they happen, and why an order came to nothing."""
    refused = st.session_state.get(REFUSED)
    if refused and refused[0] == view.run_id:
        st.error(spoken(refused[1]))
    if view.proof:
        st.markdown(f":gray[{' · '.join(map(plain, view.proof))}]")
