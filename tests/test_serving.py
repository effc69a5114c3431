"""A saved model: the same bytes for the same weights, the same answers after loading, nothing run."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from makers import tiny_model, tiny_samples

from dataset import scaler
from model.networks import build
from model.predictions import INPUTS, predict
from model.serving import Predictor
from model.weights import CONFIG, WEIGHTS, load_model, save_model, sha256

RAW = {name: values.astype(np.float64) for name, values in tiny_samples(7).items() if name in INPUTS}


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return build(tiny_model()).eval()


def served(folder: Path) -> Predictor:
    save_model(folder, network(), tiny_model())
    (folder / "scaler.json").write_text(scaler.fit(RAW, np.arange(7)).to_json())
    return Predictor(folder)


def test_equal_weights_give_equal_bytes(tmp_path: Path) -> None:
    first, again = (save_model(tmp_path / name, network(), tiny_model()) for name in "ab")
    assert sha256(first / WEIGHTS) == sha256(again / WEIGHTS)
    assert (first / CONFIG).read_bytes() == (again / CONFIG).read_bytes()


def test_a_loaded_model_answers_as_before(tmp_path: Path) -> None:
    model, samples = network(), tiny_samples(7)
    model.heads.price_unit.fill_(0.01)  # type: ignore[union-attr, operator]
    loaded, config = load_model(save_model(tmp_path, model, tiny_model()))
    assert config == tiny_model()
    before, after = predict(model, samples), predict(loaded, samples)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_batches_do_not_change_answers() -> None:
    model, samples = network(), tiny_samples(7)
    for name, values in predict(model, samples, batch_size=3).items():
        np.testing.assert_allclose(values, predict(model, samples, batch_size=7)[name], rtol=1e-4, atol=1e-6)


def test_a_predictor_scales_raw_fields_and_names_actions(tmp_path: Path) -> None:
    answers = served(tmp_path).predict(RAW)
    assert set(answers["action"]) <= {"hold", "buy", "sell"}
    assert answers["probabilities"].sum(axis=1) == pytest.approx(np.ones(7))
    scaled = scaler.fit(RAW, np.arange(7)).apply(RAW)
    np.testing.assert_array_equal(answers["probabilities"], predict(network(), scaled)["probabilities"])


def test_a_request_that_lacks_a_field_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the request lacks tech_data"):
        served(tmp_path).predict({name: values for name, values in RAW.items() if name != "tech_data"})


def test_weights_of_another_shape_are_refused_by_name(tmp_path: Path) -> None:
    save_model(tmp_path, network(), tiny_model())
    config = json.loads((tmp_path / CONFIG).read_text()) | {"d_ff": 64}
    (tmp_path / CONFIG).write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"feed_forward.* has the shape \(.*32.*\), expected \(.*64.*\)"):
        load_model(tmp_path)


class Trap:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path("trap-was-run"),)  # type: ignore[return-value]


def test_a_pickle_in_disguise_is_refused_and_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = save_model(tmp_path / "model", network(), tiny_model())
    (folder / WEIGHTS).write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match="not a safetensors file"):
        load_model(folder)
    assert not Path("trap-was-run").exists()


@pytest.mark.parametrize("header", [2**63 - 1, 10**9])
def test_a_giant_header_is_refused(tmp_path: Path, header: int) -> None:
    folder = save_model(tmp_path, network(), tiny_model())
    (folder / WEIGHTS).write_bytes(header.to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match="not a safetensors file"):
        load_model(folder)


@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, "scaler.json"])
def test_a_folder_that_lacks_a_file_is_refused(tmp_path: Path, name: str) -> None:
    served(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ValueError, match=name):
        Predictor(tmp_path)
