"""The Predict view: an answer with what was seen, its test split, and every absence in a sentence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from app_project import said, small_project, view
from data_root import trade_on, write_trades
from foreign import TEXTS, live
from run_views import service
from streamlit.testing.v1 import AppTest
from test_app_registry import CHAMPION, SECOND

from app import backend, dataset_reader, foresight, registry_reader
from app.candles import chart, frame
from dataset.candles import Candles
from dataset.versions import version
from flows import control
from flows.control import Judged, Judgement, NextCandle, NextPivot, Prediction
from flows.errors import ServiceDownError


@pytest.fixture
def market(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Candles:
    """A dataset and two versions that learnt from it; what they answer is made up."""
    candles = small_project(tmp_path, monkeypatch)
    name = version(tmp_path / "data")
    known = [replace(one, dataset_version=name) for one in (SECOND, CHAMPION)]
    monkeypatch.setattr(backend, "services", lambda: [service()])
    monkeypatch.setattr(control, "versions", lambda: known)
    monkeypatch.setattr(control, "earlier_champion", lambda: None)
    monkeypatch.setattr(control, "predict", lambda number, time, symbol, source: answer(candles, number, time, source))
    monkeypatch.setattr(control, "judgement", lambda run_id: judgement(candles))
    return candles


def answer(candles: Candles, number: int, time: int, source: str) -> Prediction:
    seen = int(candles.last_visible(dataset_reader.np.array([time]))[0])
    close, closed = float(candles.values[seen, 3]), int(candles.close_time[seen])
    expected = NextCandle(stream="SIM/ETH 1m", open_time=closed, open=close, high=close * 1.01, low=close, close=close)
    return Prediction(
        version=number, run_id="20261130-120000-aaaaaa", dataset_version=source, trained_on=source, symbol="SIM/ETH",
        time=time, seen_until=closed, price=close, action="buy", confidence=0.58, horizon_bars=15, price_return=0.001,
        probabilities={"hold": 0.3, "buy": 0.6, "sell": 0.1}, trade_success=0.5, held=None, next_candles=(expected,),
        pivots=(NextPivot(level=1, time=closed + 540, bars=10.2, price=close * 1.02),),
    )  # fmt: skip


def judgement(candles: Candles, name: str = "t900") -> Judgement:
    shares = {"hold": 0.1, "buy": 0.8, "sell": 0.1}
    row = Judged(time=int(candles.close_time[900]), symbol="SIM/ETH", annotation_id=name, actual="sell",
                 predicted="buy", probabilities=shares, loss=2.3)  # fmt: skip
    return Judgement(
        rows=(row,), actions=("hold", "buy", "sell"), confusion=[[0] * 3, [0] * 3, [0, 1, 0]], reliability=()
    )


def opened(**address: str) -> AppTest:
    return view("predict", **address)


def test_the_champion_answers_first_at_its_worst_mistake(market: Candles) -> None:
    page = opened()
    assert "**Version 1 says: buy**" in said(page)
    assert "58.0 %" in said(page)  # how often it expects to be right
    assert page.text_input(key="typed time").value == "2024-08-01 15:01"
    assert "in 10 bars" in said(page)
    assert "Test split: 0 of 1 sample answered right" in said(page)
    assert page.dataframe[0].value["Loss"].tolist() == [2.3]


def test_a_link_opens_the_version_and_the_time_it_names(market: Candles) -> None:
    page = opened(version="2", time="2024-08-01 12:00")
    assert "Version 2 says" in said(page)
    assert "hold, inside t700" in said(page)


def test_a_typed_time_and_a_trade_go_into_the_address(market: Candles) -> None:
    page = opened()
    page.text_input(key="typed time").set_value("2024-08-01T14:00:00+02:00").run()
    assert page.query_params["time"] == "2024-08-01 12:00"
    page.text_input(key="typed time").set_value("soon").run()
    assert page.query_params["time"] == "2024-08-01 12:00"
    assert [entry.value for entry in page.warning] == ["soon is no time; expected one like 2026-11-28 14:10, UTC."]
    page.selectbox(key="jump").set_value("t900 entry").run()
    assert page.query_params["time"] == "2024-08-01 15:01"
    assert not page.exception


@pytest.mark.parametrize("time", ["<script>", "1970-01-01", "9999-01-01", "", "t\x00"])
def test_an_address_that_is_no_time_is_left_alone_and_said(market: Candles, time: str) -> None:
    page = opened(time=time)
    assert "Version 1 says" in said(page)
    assert [word.value.startswith("The link's time") for word in page.warning] == ([True] if time else [])


def test_a_version_of_a_link_that_is_not_there_is_said(market: Candles) -> None:
    page = opened(version="999")
    assert [word.value for word in page.warning] == [
        "The link's version 999 is not registered here; another one is shown."
    ]
    assert page.query_params["version"] == "999"
    assert "Version 1 says" in said(page)


@pytest.mark.parametrize("refusal", [ValueError("stream x has 3 candles"), ServiceDownError("MLflow does not answer")])
def test_what_cannot_be_asked_is_said_and_the_test_split_stays(
    market: Candles, monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    def refuse(*order: Any) -> Prediction:
        raise refusal

    monkeypatch.setattr(control, "predict", refuse)
    page = opened()
    assert page.error[0].value == f"{refusal}\\."
    assert "Test split" in said(page)


def test_a_run_that_is_gone_costs_the_test_split_alone(market: Candles, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(run_id: str) -> Judgement:
        raise ValueError("its test predictions are not here any more")

    monkeypatch.setattr(control, "judgement", gone)
    page = opened()
    assert "Version 1 says" in said(page)
    assert "not here any more" in said(page)


def test_without_a_version_or_a_registry_the_view_says_so(market: Candles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "versions", lambda: [])
    assert "No version yet to ask" in said(opened())
    registry_reader.registry.clear()

    def down() -> Any:
        raise ServiceDownError("MLflow does not answer; start it with `make up`")

    monkeypatch.setattr(control, "versions", down)
    assert "No version can be asked now: MLflow does not answer" in opened().warning[0].value


@pytest.mark.parametrize("text", [" | ".join(TEXTS), TEXTS[0]], ids=["all", "first"])
def test_text_of_people_is_text(market: Candles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    cells = text.replace(",", " ").replace("\x00", " ").replace('"', " ")
    write_trades(tmp_path / "data", [trade_on(market, 700, 760, name=cells)])
    known = [replace(CHAMPION, dataset_version=version(tmp_path / "data"))]
    monkeypatch.setattr(control, "versions", lambda: known)
    monkeypatch.setattr(control, "judgement", lambda run_id: judgement(market, cells))
    page = opened(time="2024-08-01 11:41")
    assert "the entry of" in said(page)
    assert not live(said(page))


def test_a_wrong_answer_here_is_told_above_the_candles_and_others_are_rings(market: Candles, tmp_path: Path) -> None:
    name = version(tmp_path / "data")
    rows = judgement(market, "t1").rows
    said = answer(market, 1, rows[0].time, name)
    window = dataset_reader.window(name, "SIM/ETH", "1m", said.time)
    told = [foresight.unseen(window, one, rows)[0][0]["label"]["formatter"] for one in (said, replace(said, time=0))]
    assert told == [f"decided here: was {rows[0].actual}, said {rows[0].predicted}", "decided here"]
    assert [ring["label"] for ring in foresight.mistakes(window, rows, said)] == [{"show": False}]


def test_what_is_expected_stands_after_what_was_seen(market: Candles, tmp_path: Path) -> None:
    name = version(tmp_path / "data")
    said = answer(market, 1, int(market.close_time[-1]), name)
    window = dataset_reader.window(name, "SIM/ETH", "1m", said.time)
    longer = foresight.extended(window, 30)
    table = foresight.with_expected(frame(longer), longer, said)
    seen = longer.visible(said.time)
    assert table["expected close"].notna().sum() == 1
    assert table["expected close"].notna().idxmax() == seen + 1 == len(window.open_time)
    lines, areas = foresight.unseen(longer, said)
    assert lines[0]["xAxis"] == areas[0][0]["xAxis"] == table["time"][seen]
    (path,) = foresight.path(longer, said)
    assert path["data"][1] == [table["time"][seen + 10], said.pivots[0].price]
    spec = chart(longer, table, [], lines, areas, [foresight.candle(), path], pick=True)
    spec.pop("dataset")
    json.dumps(spec, allow_nan=False)


def test_words_of_pivots_never_lie_on_each_other(market: Candles) -> None:
    """On a coarse timeframe several pivots fall on one candle: they share a label."""
    source, time = dataset_reader.library()[0].version, int(market.close_time[800])
    said = answer(market, 2, time, source)
    price = said.price
    pivots = tuple(
        NextPivot(level=level, time=said.seen_until + 60 * bars, bars=bars, price=price * (1 + share))
        for level, bars, share in ((1, 5, 0.0), (2, 6, 0.00001), (3, 40, 0.05))
    )
    for timeframe, expected in (("1m", ["levels 1, 2", "level 3"]), ("15m", ["levels 1, 2", "level 3"])):
        window = dataset_reader.window(source, "SIM/ETH", timeframe, time)
        (line,) = foresight.path(window, replace(said, pivots=pivots))
        assert [mark["label"]["formatter"] for mark in line["markPoint"]["data"]] == expected
        assert len(line["data"]) == 4
    apart = tuple(replace(pivot, price=price * (1 + 0.1 * pivot.level)) for pivot in pivots)
    (line,) = foresight.path(window, replace(said, pivots=apart))
    assert len(line["markPoint"]["data"]) == 3
