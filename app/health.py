"""Which services do not answer, and what that stops."""

from urllib.parse import urlsplit

import streamlit as st

from app import backend
from app.format import plain
from flows.control import REMEDY, Service

LOOK_S = 5
LEFT = {
    "Prefect": "so nothing can be started here. A training that runs goes on and can be cancelled.",
    "Worker": "so what is started waits in the queue.",
    "MLflow": "so a trained model cannot be registered. A training that runs goes on and keeps its curves.",
}


def watch() -> set[str]:
    """Says under the title what is down and goes on looking; returns the names as they are now."""
    down = {entry.name for entry in silent()}
    st.fragment(tick, run_every=LOOK_S)(down)
    return down


def tick(drawn: set[str]) -> None:
    """A service that went or came back changes more of the page than its warning."""
    now = silent()
    if {entry.name for entry in now} != drawn:
        st.rerun()
    for entry in now:
        st.warning(sentence(entry))


def silent() -> list[Service]:
    return [entry for entry in backend.services() if not entry.up]


def sentence(service: Service) -> str:
    where = plain(urlsplit(service.url).netloc)
    said = "does not answer" if service.detail.startswith("does not answer") else plain(service.detail)
    left = LEFT.get(service.name, "")
    return f"{plain(service.name)} {said} at {where}, {left} {REMEDY[0].upper()}{REMEDY[1:]}."
