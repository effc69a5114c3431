"""What the page reads of registered versions, kept for a moment; what changes them clears it."""

from dataclasses import dataclass

import streamlit as st

from flows import control
from flows.control import VersionView
from flows.errors import ServiceDownError, classify

CHAMPION = "champion"


@dataclass(frozen=True, slots=True)
class Registry:
    """The versions, newest first, or the sentence that says why they cannot be told."""

    versions: tuple[VersionView, ...] = ()
    earlier: int | None = None  # the version that was champion before
    problem: str = ""

    @property
    def champion(self) -> VersionView | None:
        return next((entry for entry in self.versions if CHAMPION in entry.aliases), None)


@st.cache_data(ttl=5, show_spinner=False)
def registry() -> Registry:
    try:
        found = tuple(control.versions())
        return Registry(found, control.earlier_champion() if found else None)
    except (ServiceDownError, ValueError, OSError) as error:
        return Registry(problem=classify(error).message)
