"""Making a version the champion, with a reason, and going back to the one before after a question."""

import streamlit as st

from app import pressed, registered, registry_reader
from app.format import MISSING
from app.registry_reader import Registry
from flows import control
from flows.control import VersionView

REASON, BACK, WHY_BACK = "reason for promoting", "a way back is asked for", "reason for going back"
MOST_LETTERS = 200


def box(chosen: VersionView, found: Registry) -> None:
    """The reason and the button that waits for it; for the champion itself the way back."""
    champion = found.champion
    with st.container(border=True):
        if champion and champion.version == chosen.version:
            st.markdown(f"**Version {chosen.version} is the champion.** Select another version to promote it.")
        else:
            promotion(chosen, champion)
        if champion:
            way_back(found)


def promotion(chosen: VersionView, champion: VersionView | None) -> None:
    reason = ask_why(
        f"Reason for promoting version {chosen.version}",
        "one sentence, kept with the version",
        f"{REASON} {chosen.version}",
    )
    ready = chosen.status == "READY"
    st.button(
        f"Promote version {chosen.version}",
        type="primary",
        disabled=not reason or not ready,
        help=None if ready else "It is not ready in MLflow.",
        on_click=promote,
        args=(chosen.version, reason),
        key="promote",
    )
    if champion:
        st.caption(f"Version {champion.version} stays registered, and one press leads back to it.")


def ask_why(title: str, hint: str, key: str) -> str:
    """The reason, empty while it cannot be used. The browser would drop a pasted text that is too long, unsaid."""
    reason = st.text_input(title, placeholder=hint, key=key, live=True).strip()
    if len(reason) <= MOST_LETTERS:
        return reason
    st.caption(f":orange[{len(reason):,} letters: {MOST_LETTERS} are the most. Shorten it.]")
    return ""


def promote(version: int, reason: str) -> None:
    pressed.carry_out(lambda: sentence(control.promote(version, reason)))
    forget()


def way_back(found: Registry) -> None:
    if st.button(
        f"Roll back to version {found.earlier}" if found.earlier else "Roll back",
        disabled=found.earlier is None,
        help=None if found.earlier else "There is no earlier champion to go back to.",
        key="roll back",
    ):
        st.session_state[BACK] = True
        st.rerun()


def ask() -> None:
    """Opens the question that a press of Roll back left behind."""
    if st.session_state.pop(BACK, False):
        confirm()


@st.dialog("Roll back to the champion before?")
def confirm() -> None:
    found = registry_reader.registry()
    now = found.champion.version if found.champion else MISSING
    st.markdown(
        f"Version {found.earlier} becomes the champion again. Version {now} stays registered, and the reason is kept "
        "in the history: promote it again to undo this."
    )
    reason = ask_why("Reason", "one sentence", WHY_BACK)
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(f"Keep version {now}"):
            st.rerun()
        if st.button(
            f"Roll back to version {found.earlier}",
            type="primary",
            disabled=not reason,
            key="confirmed",
            on_click=roll_back,
            args=(reason,),
        ):
            st.rerun()


def roll_back(reason: str) -> None:
    pressed.carry_out(lambda: sentence(control.roll_back(reason)))
    forget()


def forget() -> None:
    """All views read the versions anew."""
    registry_reader.registry.clear()
    registered.SHELF.forget()


def sentence(said: str) -> str:
    return f"{said[0].upper()}{said[1:]}."
