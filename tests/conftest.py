"""What every test needs of its surroundings."""

import sys

import pytest


@pytest.fixture(autouse=True)
def own_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """`AppTest` leaves its script in the place of the main module, which a forked process would then run first."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
