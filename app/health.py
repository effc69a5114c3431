"""Which services do not answer, and what that stops."""

from urllib.parse import urlsplit

import streamlit as st

from app import backend
from app.format import plain
from flows.control import Service

LEFT = {
    "Prefect": "so nothing can be started here and no running run can be cancelled. A training that runs goes on.",
    "MLflow": "so a trained model cannot be registered. A training that runs goes on and keeps its curves.",
}


def warn() -> set[str]:
    """Says under the title what is down; returns the names."""
    down = [entry for entry in backend.services() if not entry.up]
    for entry in down:
        st.warning(sentence(entry))
    return {entry.name for entry in down}


def sentence(service: Service) -> str:
    where = plain(urlsplit(service.url).netloc)
    said = "does not answer" if service.detail.startswith("does not answer") else plain(service.detail)
    left = LEFT.get(service.name, "")
    return f"{plain(service.name)} {said} at {where}, {left} Start it with `make up`."
