"""What a version says at a moment: the sample of a training, nothing later, and prices that can be drawn."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from checkout import ROOT
from data_root import write_candles, write_root

from dataset import scaler
from dataset.annotations import by_entry, read_annotations
from dataset.candles import Candles, load
from dataset.config import PreprocessConfig
from dataset.observation import load_market
from dataset.question import following_prices, open_trade, question
from dataset.samples import build
from dataset.schema import read_info
from dataset.split import TRAIN
from dataset.versions import version
from flows import judgement, models, prediction, runfile
from flows.params import Params, as_dict
from flows.project import Project
from flows.versionview import VersionView
from model.networks import build as network
from model.presets import fitted, lite
from model.reliability import losses, reliability
from model.weights import save_model, sha256

CONFIG = PreprocessConfig(seq_len=20, pivot_horizon_bars=60)
RUN = "20261130-120000-aaaaaa"


def test_a_question_is_the_sample_that_a_training_has_of_that_moment(tmp_path: Path) -> None:
    write_root(tmp_path)
    arrays, _ = build(tmp_path, CONFIG)
    market = load_market(tmp_path, read_info(tmp_path), "SIM/ETH")
    trades = by_entry(read_annotations(tmp_path)[0])
    for row, time in enumerate(arrays["decision_time"].tolist()):
        asked = question(market, time, CONFIG, open_trade(trades, "SIM/ETH", time))
        for name, values in asked.items():
            assert np.array_equal(values[0], arrays[name][row], equal_nan=True), (name, arrays["kind"][row])


def test_predicted_candles_come_back_as_prices(tmp_path: Path) -> None:
    write_root(tmp_path)
    arrays, _ = build(tmp_path, CONFIG)
    fitted_scaler = scaler.fit(arrays, np.flatnonzero(arrays["split"] == TRAIN))
    scaled = fitted_scaler.apply(arrays)["next_candles"]
    market = load_market(tmp_path, read_info(tmp_path), "SIM/ETH")
    time = int(arrays["decision_time"][0])
    told = following_prices(market, time, fitted_scaler.following(scaled)[0])
    for (name, opened, values), stream in zip(told, market.streams, strict=True):
        place = int(np.searchsorted(stream.open_time, opened))
        assert stream.open_time[place] == opened, name
        assert np.allclose(values, stream.values[place], rtol=1e-3)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a dataset, a run that made a tiny model of it, and that model as version 7."""
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy2(ROOT / name, tmp_path / name)
    write_root(tmp_path / "data")
    found = Project(root=tmp_path, state=tmp_path / "state")
    monkeypatch.setenv("PIVOTLINE_PROJECT", str(tmp_path))
    monkeypatch.setenv("PIVOTLINE_STATE", str(tmp_path / "state"))
    folder = model_of(found)
    view = VersionView(
        version=7, name="pivotline", aliases=("champion",), run_id=RUN, created_at="2026-11-30T12:00:00+00:00",
        dataset_version=version(tmp_path / "data"), simulated=True, kind="transformer", preset="lite", score=0.5,
        interval=(0.4, 0.6), chance=1 / 3, parameters=1, weights_sha256=sha256(folder / "weights.safetensors"),
        reason="", status="READY", files={},
    )  # fmt: skip
    monkeypatch.setattr(models, "versions", lambda: [view])
    monkeypatch.setattr(models, "model_folder", lambda number: folder)
    return found


def model_of(project: Project) -> Path:
    arrays, _ = build(project.root / "data", CONFIG)
    config = fitted(replace(lite(), d_model=16, heads=2, layers=1, d_ff=16, seq_len=20), arrays)
    folder = save_model(project.workspace(RUN) / "artifacts" / "model", network(config), config)
    found = scaler.fit(arrays, np.flatnonzero(arrays["split"] == TRAIN))
    (folder / "scaler.json").write_text(found.to_json(), "utf-8")
    params = as_dict(Params()) | {"preprocess": {"seq_len": 20, "pivot_horizon_bars": 60}}
    record = {
        "run_id": RUN, "state": "done", "created_at": runfile.now(), "stages": {}, "params": params,
        "dataset_version": version(project.root / "data"),
    }  # fmt: skip
    runfile.write(project.workspace(RUN), record)
    return folder


def moment(project: Project, bar: int) -> int:
    return int(load(project.root / "data", "SIM/ETH", "1m").close_time[bar])


def test_an_answer_has_everything_that_is_drawn(project: Project) -> None:
    time = moment(project, 800)
    said = prediction.predict("champion", time + 30)
    assert (said.version, said.run_id, said.held, said.seen_until) == (7, RUN, None, time)
    assert sum(said.probabilities.values()) == pytest.approx(1, abs=1e-5)
    assert said.action == max(said.probabilities, key=lambda name: said.probabilities[name])
    assert [candle.stream for candle in said.next_candles] == ["SIM/ETH 1m", "SIM/ETH 5m", "SIM/ETH 15m", "SIM/BTC 1m"]
    assert all(candle.open_time >= time - 900 and candle.close > 0 for candle in said.next_candles)
    assert [pivot.level for pivot in said.pivots] == [1, 2, 3]
    assert all(pivot.time >= time and pivot.price > 0 for pivot in said.pivots)
    assert prediction.predict(7, time + 30) == said


def test_inside_a_trade_its_position_is_assumed_unless_told_otherwise(project: Project) -> None:
    time = moment(project, 720)
    inside, flat = prediction.predict(7, time), prediction.predict(7, time, as_if_flat=True)
    assert (inside.held, flat.held) == ("t700", None)
    assert inside.probabilities != flat.probabilities


def test_nothing_later_than_the_moment_changes_an_answer(project: Project) -> None:
    time = moment(project, 720)
    before = prediction.predict(7, time)
    for symbol, timeframe in (("SIM/ETH", "1m"), ("SIM/ETH", "15m"), ("SIM/BTC", "1m")):
        candles = load(project.root / "data", symbol, timeframe)
        later = candles.close_time > time
        values = np.where(later[:, None], candles.values * 1000, candles.values)
        write_candles(project.root / "data", symbol, Candles(timeframe, candles.open_time, values))
    changed = version(project.root / "data")
    after = prediction.predict(7, time, dataset_version=changed)
    assert after == replace(before, dataset_version=changed)
    assert prediction.predict(7, time + 120, dataset_version=changed).price > 1000


@pytest.mark.parametrize(
    ("version_", "bar", "symbol", "words"),
    [
        ("9", 800, "", "version '9' is not registered"),
        ("../../x", 800, "", "is not registered"),
        ("champion", 3, "", "candles of the window before this time"),
        ("champion", 800, "../../etc", "symbol is"),
        ("champion", 800, "XRP/USD", "XRP_USD"),
    ],
)
def test_what_cannot_be_asked_is_said(project: Project, version_: str, bar: int, symbol: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        prediction.predict(version_, moment(project, bar), symbol)


def test_the_settings_of_a_run_that_is_gone_are_missed_by_name(project: Project) -> None:
    shutil.rmtree(project.workspace(RUN))
    with pytest.raises(ValueError, match=RUN):
        prediction.predict(7, moment(project, 800))


def test_the_test_split_is_read_back_worst_first(project: Project) -> None:
    artifacts = project.workspace(RUN) / "artifacts"
    rows = ["0,1722500000,buy,buy,0.1,0.8,0.1", "1,1722500060,sell,hold,0.7,0.2,0.1", "1,1722500120,hold,sell,0,0,1"]
    header = "trade,decision_time,actual,predicted,p_hold,p_buy,p_sell"
    (artifacts / "predictions.csv").write_text("\n".join([header, *rows]) + "\n")
    (artifacts / "evaluation.json").write_text(json.dumps({"confusion": [[0, 0, 1], [0, 1, 0], [1, 0, 0]]}))
    found = judgement.judgement(RUN)
    assert [row.time for row in found.rows] == [1722500120, 1722500060, 1722500000]
    assert [round(row.loss, 3) for row in found.rows] == [14.509, 2.303, 0.223]
    assert [row.annotation_id for row in found.rows] == ["t900", "t900", "t700"]
    assert found.confusion[0] == [0, 0, 1]
    with pytest.raises(ValueError, match="expected YYYYMMDD"):
        judgement.judgement("../..")


def test_reliability_and_losses_by_hand() -> None:
    chosen, right = np.array([0.4, 0.42, 0.9, 1.0]), np.array([True, False, True, True])
    low, high = reliability(chosen, right)
    assert (low.samples, low.happened, low.said) == (2, 0.5, pytest.approx(0.41))
    assert (high.samples, high.happened) == (2, 1.0)
    assert reliability(np.empty(0), np.empty(0, bool)) == []
    assert losses(np.array([[0.5, 0.25, 0.25]]), np.array([1]))[0] == pytest.approx(np.log(4))
