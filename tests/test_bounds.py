"""A config names every value it refuses, with what it expected."""

from dataclasses import dataclass

import pytest

from dataset.bounds import check, problems, setting


@dataclass(frozen=True, kw_only=True, slots=True)
class _Config:
    batch: int = setting(5, "samples a step", minimum=1, maximum=512)
    rate: float = setting(0.1, "step size", minimum=0)
    name: str = setting("a", "which", choices=("a", "b"))
    on: bool = setting(True, "switch")
    limit: int | None = setting(None, "at most", minimum=1)
    scales: tuple[int, ...] = setting((1, 3), "bars", minimum=1)
    free: int = 3

    def __post_init__(self) -> None:
        check(self)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"batch": 0}, "batch is 0, expected 1 to 512"),
        ({"batch": True}, "batch is True, expected int"),
        ({"batch": 2.0}, "batch is 2.0, expected int"),
        ({"batch": "5"}, "batch is '5', expected int"),
        ({"rate": float("nan")}, "rate is nan, expected a finite number"),
        ({"rate": float("inf")}, "rate is inf, expected a finite number"),
        ({"rate": -1}, "rate is -1, expected at least 0"),
        ({"name": "c"}, "name is 'c', expected one of a, b"),
        ({"on": 1}, "on is 1, expected bool"),
        ({"limit": 0}, "limit is 0, expected at least 1"),
        ({"limit": "x"}, "limit is 'x', expected int or none"),
        ({"scales": (1, 0)}, "scales is (1, 0), expected at least 1"),
        ({"scales": [1]}, "scales is [1], expected a list of int"),
        ({"batch": 0, "rate": -1}, "batch is 0, expected 1 to 512; rate is -1, expected at least 0"),
    ],
)
def test_bad_values_are_named(values, message):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole message is compared
        _Config(**values)
    assert str(refused.value) == message


def test_good_values_have_no_problem():
    assert problems(_Config(rate=1, limit=None, scales=(1,), free=-9)) == []
