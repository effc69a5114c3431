"""What is predicted is what a real step takes; the verdict says what fits; too little memory ends in one sentence."""

import gc
import json
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from makers import tiny_model, tiny_samples, tiny_train
from typer.testing import CliRunner

from bench.memory import allocator_peak
from flows.commands.memory import riddle, switched_on
from flows.commands.model import app
from flows.errors import RESOURCES, classify
from flows.forecast import before, memory
from flows.params import Params
from flows.reports import write_report
from flows.summary import peak_memory, scores
from model import checkpoint
from model.amount import amount
from model.learner import Learner
from model.ledger import PARTS
from model.memory import process_peak_bytes
from model.plan import CUDA_CONTEXT_BYTES, Plan, plan
from model.presets import base, lite
from model.recipe import TrainConfig
from model.rehearsal import blank, rehearse
from model.size import size
from model.trainer import FitResult, fit
from model.verdict import FITS, TIGHT, TOO_LARGE, needed, sentence, verdict

SMALL = replace(base(), d_model=64, heads=4, layers=2, d_ff=128, seq_len=40, pattern_hidden=(32,), head_hidden=(32,))
TINY = tiny_model(layers=1, scales=(1,))
CONFIGS = {
    "fp32, checkpointing": (SMALL, 3, "fp32", True),
    "bf16": (SMALL, 4, "bf16", False),
    "lite, short": (replace(lite(), seq_len=30), 2, "fp32", False),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_plan_is_the_allocator_s_peak_of_a_real_step(name: str) -> None:
    config, batch, precision, checkpointing = CONFIGS[name]
    planned = plan(config, batch, config.seq_len, precision, checkpointing)
    recipe = TrainConfig(batch_size=batch, precision=precision, checkpointing=checkpointing)
    update, judged = rehearse(recipe, config, batch, batch, batch)
    assert (planned.update_bytes, planned.validation_bytes) == (update.peak_bytes, judged.peak_bytes)
    assert allocator_peak(recipe, config, batch) == pytest.approx(planned.update_bytes, rel=0.03)


def test_parts_are_what_they_are_called() -> None:
    on, off = (plan(SMALL, 3, 40, "fp32", checkpointing) for checkpointing in (True, False))
    parameters = size(SMALL).parameters
    assert on.optimizer_state == pytest.approx(8 * parameters, rel=0.01)
    assert on.weights == pytest.approx(4 * parameters, rel=0.01)
    assert on.inputs == off.inputs
    assert on.activations < off.activations
    assert plan(SMALL, 12, 40, "fp32", False).activations > 3 * off.activations


def test_a_plan_touches_no_random_number_and_allocates_nothing_of_that_size() -> None:
    before, peak = torch.get_rng_state(), process_peak_bytes()
    plan(replace(base(), d_model=2048, d_ff=8192, layers=4), 64, 200, "fp32", False)  # tens of GB
    assert torch.equal(before, torch.get_rng_state())
    assert process_peak_bytes() - peak < 400e6


def test_samples_that_stay_on_the_device_are_counted() -> None:
    few, many = (plan(TINY, 3, TINY.seq_len, "fp32", True, samples=(count, 5)) for count in (10, 110))
    one = sum(value.nbytes for value in blank(TINY, 1).values())
    assert many.inputs - few.inputs == 100 * one


@pytest.mark.parametrize(("share", "word"), [(0.5, FITS), (0.8499, FITS), (0.8501, TIGHT), (1.0, TIGHT)])
def test_a_plan_is_tight_from_85_percent_on(share: float, word: str) -> None:
    planned = planned_bytes(2**30)
    assert verdict(planned, round(needed(planned) / share)).word == word


def test_what_does_not_fit_comes_with_the_largest_batch_and_the_cheapest_switch() -> None:
    planned = plan(TINY, 40, 40, "fp32", False, samples=(40, 1))
    device = needed(plan(TINY, 37, 40, "fp32", False, samples=(40, 1))) + 1000
    found = verdict(planned, device)
    assert (found.word, found.largest_batch, found.switch) == (TOO_LARGE, 37, "checkpointing on")
    assert "the largest batch is 37, the cheapest switch is checkpointing on" in sentence(planned, found)
    assert sentence(planned, found).startswith(f"{amount(found.needed_bytes)} of {amount(found.device_bytes)} with")
    hopeless = verdict(planned, CUDA_CONTEXT_BYTES)
    assert (hopeless.word, hopeless.largest_batch, hopeless.switch) == (TOO_LARGE, None, None)


def test_a_smaller_network_is_the_last_switch() -> None:
    planned = plan(base(), 1, 20, "bf16", True)
    found = verdict(planned, needed(planned) - 20_000_000)
    assert (found.largest_batch, found.switch) == (None, "preset lite")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch": 0}, "batch_size is 0"),
        ({"seq_len": 601}, "seq_len is 601"),
        ({"precision": "fp8"}, "precision is"),
        ({"optimizer": "sgd"}, "expected one of adamw"),
    ],
)
def test_settings_out_of_bounds_are_refused(changes: dict, words: str) -> None:
    settings = {"batch": 2, "seq_len": 40, "precision": "fp32", "checkpointing": True}
    with pytest.raises(ValueError, match=words):
        plan(SMALL, **(settings | changes))
    with pytest.raises(ValueError, match="expected on or off"):
        switched_on("yes")


def train(folder: Path, **changes: object) -> FitResult:
    samples = tiny_samples(train=6, validation=3)
    return fit(tiny_train(batch_size=2, **changes), TINY, samples, log=lambda row: None, checkpoints=folder)


def test_a_run_measures_what_was_predicted(tmp_path: Path) -> None:
    done = train(tmp_path)
    planned = plan(TINY, 2, TINY.seq_len, "fp32", True, samples=(6, 3))
    found = memory(planned, done.memory)
    assert found["predicted_bytes"] == planned.predicted_bytes
    assert abs(found["error"]) <= 0.03
    assert "predicted" in peak_memory(found)
    assert "measured" in peak_memory(found)


def test_planning_before_a_run_leaves_its_weights_as_they_are(tmp_path: Path) -> None:
    first = train(tmp_path / "a", epochs=1)
    plan(TINY, 2, TINY.seq_len, "fp32", True)
    second = train(tmp_path / "b", epochs=1)
    assert all(torch.equal(value, second.weights[name]) for name, value in first.weights.items())


def test_the_record_of_a_run_holds_predicted_measured_and_error(tmp_path: Path) -> None:
    (tmp_path / "artifacts").mkdir()
    found = {"kind": "cpu", "predicted_bytes": 200, "measured_bytes": 199, "error": 0.005}
    write_report(tmp_path / "artifacts" / "train.json", {"memory": found})
    write_report(tmp_path / "artifacts" / "evaluation.json", {"baselines": {}})
    assert scores(tmp_path) == {"memory/predicted_bytes": 200.0, "memory/measured_bytes": 199.0, "memory/error": 0.005}


def test_the_command_prints_both_plans_and_the_verdict() -> None:
    words = ["memory", "--preset", "lite", "--batch", "5", "--seq-len", "100", "--device-gb", "0.6", "--json"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    told = json.loads(done.stdout)
    on, off = told["predicted"]["on"], told["predicted"]["off"]
    for each in (on, off):
        assert sum(each[f"{part}_bytes"] for part in PARTS) == each["update_bytes"]
    assert off["activations_bytes"] > on["activations_bytes"]
    assert told["verdict"]["needed_bytes"] == on["predicted_bytes"] + told["assumed"]["cuda_context_bytes"]
    assert told["verdict"]["word"] == (TIGHT if told["verdict"]["share"] >= 0.85 else FITS)


def test_the_memory_of_legacy_is_explained_in_two_sentences() -> None:
    on, off = (plan(replace(TINY, preset="legacy"), 2, TINY.seq_len, "fp32", chosen) for chosen in (True, False))
    told = [line for line in riddle(off, on) if line]
    assert [line[-1] for line in told] == [".", "."]
    assert "of the documented 43 GB" in told[0]
    assert riddle(replace(off, config=TINY), on) == []


@pytest.mark.parametrize(
    ("total", "said"),
    [
        (2**34, "memory: 1.0 GiB predicted at the peak, fits on cpu"),
        (3 * 2**29, "memory: 1.0 GiB predicted at the peak, tight on cpu with 1.5 GiB; set precision to bf16"),
        (
            2**30,
            "memory: 1.0 GiB predicted at the peak, does not fit on cpu with 1.0 GiB, and is tried all the same; "
            "set precision to bf16",
        ),
    ],
)
def test_a_run_says_before_it_begins_whether_it_fits(monkeypatch: pytest.MonkeyPatch, total: int, said: str) -> None:
    monkeypatch.setattr("flows.forecast.there", lambda device: (0, total))
    assert before(Params(train=TrainConfig(device="cpu")), planned_bytes(2**30)) == said


def planned_bytes(count: int) -> Plan:
    """A plan with a peak of so many bytes."""
    parts = dict.fromkeys(PARTS, 0) | {"activations": count}
    settings = {"batch": 5, "precision": "fp32", "checkpointing": True, "samples": None, "validation_bytes": 0}
    return Plan(config=TINY, **settings, **parts)


def cpu_runs_out() -> None:
    torch.empty(2**48)


def cuda_runs_out() -> None:
    raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of")


def python_runs_out() -> None:
    raise MemoryError


@pytest.mark.parametrize(
    ("run_out", "asked", "settings", "remedy"),
    [
        (cpu_runs_out, "1,048,576 GiB", {}, "set precision to bf16"),
        (cuda_runs_out, "2.5 GiB", {"checkpointing": False}, "turn checkpointing on"),
        (python_runs_out, "more memory", {"precision": "bf16"}, "lower batch_size"),
    ],
)
def test_too_little_memory_is_one_sentence_and_keeps_the_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_out, asked: str, settings: dict, remedy: str
) -> None:
    held: list[weakref.ref] = []
    real = Learner.update

    def update(self: Learner, batch, rate: float, share: float) -> dict[str, float]:
        if len(checkpoint.list_complete(tmp_path)):
            large = torch.zeros(1000)
            held.append(weakref.ref(large))
            run_out()
        return real(self, batch, rate, share)

    monkeypatch.setattr(Learner, "update", update)
    with pytest.raises(MemoryError) as caught:
        train(tmp_path, **settings)
    report = classify(caught.value)
    gc.collect()
    assert report.code == RESOURCES
    assert "\n" not in report.message
    assert report.message.startswith("out of memory: update 4 (epoch 2) with batches of 2 asked for " + asked)
    assert report.message.endswith("the checkpoints before it are kept; " + remedy)
    assert held[0]() is None
    assert [entry.step for entry in checkpoint.list_complete(tmp_path)] == [3]


def test_other_errors_stay_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def update(*_: object) -> None:
        raise RuntimeError("shapes differ")

    monkeypatch.setattr(Learner, "update", update)
    with pytest.raises(RuntimeError, match="shapes differ"):
        train(tmp_path)
