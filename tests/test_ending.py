"""How a run ended is said in words: who or what ended it."""

import signal
from pathlib import Path

import pytest
from prefect.exceptions import TerminationSignal

from flows.burial import OFFER
from flows.ending import ended_as
from flows.errors import StageKilledError


@pytest.mark.parametrize(
    ("error", "state", "words"),
    [
        (KeyboardInterrupt(), "cancelled", "ended by Ctrl-C"),
        (SystemExit(143), "cancelled", "ended by SIGTERM"),
        (TerminationSignal(signal=signal.SIGTERM), "cancelled", "ended by SIGTERM"),
        (SystemExit(3), "cancelled", "ended from outside"),
        (GeneratorExit(), "cancelled", "ended from outside"),
        (StageKilledError(f"train was killed; {OFFER}", 5), "crashed", f"train was killed; {OFFER}"),
        (ValueError("row 3"), "failed", "row 3"),
    ],
)
def test_the_end_of_a_run_names_its_cause(tmp_path: Path, error: BaseException, state: str, words: str) -> None:
    assert ended_as(tmp_path, error) == (state, words)
