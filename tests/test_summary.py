"""The words of a run's result, also for runs that older versions wrote down."""

import pytest

from flows.summary import peak_memory


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (
            {"kind": "cpu", "predicted_bytes": 2**20, "measured_bytes": 2**21, "error": -0.5},
            "1.0 MiB predicted, 2.0 MiB measured, error 50.0 %",
        ),
        ({"kind": "cpu", "predicted_bytes": 2**20}, "1.0 MiB predicted, not measured on cpu"),
        ({"kind": "cpu", "tensor_peak_bytes": 5}, "not predicted, not measured on cpu"),
    ],
)
def test_what_is_not_in_the_record_is_said_to_be_missing(memory: dict, words: str) -> None:
    assert peak_memory(memory) == words
