"""Orders that a viewer gives, each carried out once however often its button is pressed."""

from typing import Any

import streamlit as st

from app import backend
from app.format import plain, spoken
from flows.errors import ResourceError, ServiceDownError, classify

KEY = "key of the next run"
ASKED = "settings behind the key"
SENDING = "a run is being accepted"
REFUSED = "why no run was accepted"
CANCEL = "run that may be cancelled"
KEPT_ON = "why a run was not cancelled"
REFUSALS = (
    ValueError,
    ServiceDownError,
    ResourceError,
    OSError,
)  # bad settings, a server that is down, a disk that is full


def next_key(asked: Any) -> str:
    """The id of the run that Start makes; it stays until that run is accepted or the settings change."""
    if KEY not in st.session_state or (st.session_state.get(ASKED) != asked and not sending()):
        st.session_state[KEY] = backend.new_key()
        st.session_state[ASKED] = asked
        st.session_state.pop(REFUSED, None)
    return str(st.session_state[KEY])


def sending() -> bool:
    return bool(st.session_state.get(SENDING))


def press(key: str) -> None:
    """A press of Start. One that comes late, from a button whose run is accepted already, does nothing."""
    st.session_state[SENDING] = key == st.session_state.get(KEY)


def send(changes: dict[str, dict[str, Any]], dataset_version: str | None) -> None:
    """Sends the pressed order, then shows its run; a refusal is kept for the form to say."""
    st.session_state.pop(REFUSED, None)
    try:
        accepted = backend.start(changes, dataset_version, st.session_state[KEY])
    except REFUSALS as error:
        st.session_state[REFUSED] = classify(error).message
    else:
        del st.session_state[KEY]
        st.query_params["run"] = accepted.run_id
    st.session_state[SENDING] = False
    st.rerun()


def refused() -> str:
    return str(st.session_state.get(REFUSED, ""))


def may_cancel(run_id: str) -> None:
    st.session_state[CANCEL] = run_id


def ask_to_cancel() -> None:
    """Asks what a press of Cancel run left behind, until it is answered, or says why the answer came to nothing."""
    if reason := st.session_state.pop(KEPT_ON, None):
        st.error(spoken(reason))
    if run_id := st.session_state.get(CANCEL):
        confirm(run_id)


def keep_running() -> None:
    st.session_state.pop(CANCEL, None)


@st.dialog("Cancel this run?", on_dismiss=keep_running)
def confirm(run_id: str) -> None:
    st.markdown(f"Run {plain(run_id)} ends within 15 s. Its complete checkpoints, curves and log stay.")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep running", on_click=keep_running):
            st.rerun()
        if st.button("Cancel run", type="primary", key="confirmed", on_click=cancel, args=(run_id,)):
            st.rerun()


def cancel(run_id: str) -> None:
    st.session_state.pop(CANCEL, None)
    try:
        backend.cancel(run_id)
    except REFUSALS as error:
        st.session_state[KEPT_ON] = classify(error).message
