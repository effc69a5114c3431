"""Who is champion: real data before simulated, then the better score, and never a missing one."""

import pytest

from flows.registry import SCORE, SIMULATED_TAG, outranks


def tags(simulated: bool, score: float | None) -> dict[str, str]:
    plain = {SIMULATED_TAG: str(simulated).lower()}
    return plain if score is None else plain | {SCORE: repr(score)}


@pytest.mark.parametrize(
    ("new", "held", "expected"),
    [
        (tags(True, 0.6), tags(True, 0.5), True),
        (tags(True, 0.5), tags(True, 0.5), False),
        (tags(True, 0.4), tags(True, 0.5), False),
        (tags(False, 0.4), tags(True, 0.9), True),
        (tags(True, 0.9), tags(False, 0.4), False),
        (tags(False, None), tags(False, 0.4), False),
        (tags(False, 0.4), tags(False, None), True),
        (tags(False, None), tags(False, None), False),
    ],
)
def test_who_outranks_whom(new: dict[str, str], held: dict[str, str], expected: bool) -> None:
    better, reason = outranks(new, held, 3)
    assert better is expected
    assert "version 3" in reason
