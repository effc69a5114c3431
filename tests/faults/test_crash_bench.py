"""A small version of the crash bench: random kills over all stages, resumed to the bits of an undisturbed run."""

import pytest

from bench.crash import STAGES, crash, table

pytestmark = pytest.mark.slow


def test_a_dozen_random_kills_change_no_bit() -> None:
    tally = crash(kills=12, seconds=240, seed=5)
    assert tally.wrong == []
    assert tally.equal == tally.lives > 0
    assert tally.killed > 0, table(tally)
    assert tally.examined == tally.killed + tally.lives
    assert set(tally.kills) <= set(STAGES)
