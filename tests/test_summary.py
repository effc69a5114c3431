"""The words of a run's result, also for runs that older versions wrote down."""

import pytest

from flows.summary import peak_memory, score_words


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


def test_a_score_stands_with_its_interval_where_the_record_has_one() -> None:
    judged = {"balanced_accuracy": 0.708, "samples": 40}
    assert score_words(judged).strip() == "70.8 % balanced accuracy on 40 test samples"
    told = score_words(judged | {"interval": [0.548, 0.824]})
    assert told.endswith("on 40 test samples, 95 % interval 54.8 to 82.4 %")
