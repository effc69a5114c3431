"""What the page reads of registered versions and of the disk, kept for a moment; what changes them clears it."""

from dataclasses import dataclass

import streamlit as st

from flows import control
from flows.control import VersionView
from flows.errors import ServiceDownError, classify


@dataclass(frozen=True, slots=True)
class Registry:
    """The versions, or the sentence that says why they cannot be told."""

    versions: tuple[VersionView, ...]
    problem: str = ""

    @property
    def champion(self) -> VersionView | None:
        return next((entry for entry in self.versions if "champion" in entry.aliases), None)


@st.cache_data(ttl=5, show_spinner=False)
def registry() -> Registry:
    try:
        return Registry(tuple(control.versions()))
    except (ServiceDownError, ValueError, OSError) as error:
        return Registry((), classify(error).message)
