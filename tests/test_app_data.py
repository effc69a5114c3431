"""The Data view on a small real dataset: trades, findings and versions, and that all text in it stays text."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from app_project import said, small_project, view
from checkout import ROOT
from data_root import trade_on, write_root
from foreign import TEXTS, live
from run_views import service
from streamlit.testing.v1 import AppTest

from app import backend, candles, dataset_reader, inert, trade_export, trade_marks
from dataset.annotations import parse
from dataset.cells import read_cells
from dataset.importers.annotations import read_annotation_file
from dataset.versions import version


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small_project(tmp_path, monkeypatch)
    monkeypatch.setattr(backend, "services", lambda: [service()])
    return tmp_path / "data"


def opened(**address: str) -> AppTest:
    return view("data", **address)


def write(data: Path, rows: list[dict[str, str]]) -> None:
    with (data / "annotations.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_a_dataset_is_told_in_a_sentence_and_by_trade(data: Path) -> None:
    page = opened()
    assert said(page).startswith("**walk** (simulated): 2 trades")
    assert "2 trades, 1 long and 1 short" in said(page)
    assert "10 samples" in said(page)
    assert "1 of 2" in said(page)
    assert page.subheader[0].value == "Findings: none"
    next(button for button in page.button if button.label == "Next").click().run()
    assert page.query_params["trade"] == "t900"
    assert "2 of 2" in said(page)
    assert "after 11 bars" in said(page)


def test_a_link_opens_the_trade_and_the_timeframe_it_names(data: Path) -> None:
    page = opened(trade="t900", timeframe="15m")
    assert "Trade t900" in said(page)
    assert page.session_state["timeframe"] == "15m"


def test_data_that_gives_no_sample_is_shown_all_the_same(data: Path) -> None:
    shutil.copy2(ROOT / "params.yaml", data.parent / "params.yaml")
    page = opened()
    assert "It gives no samples with these settings: no sample has enough history" in said(page)
    assert "1 of 2" in said(page)


@pytest.mark.parametrize("address", ["<script>", "../../etc/passwd", "nothing"])
def test_an_address_that_names_nothing_shows_the_first(data: Path, address: str) -> None:
    page = opened(trade=address, data=address, timeframe=address)
    assert "1 of 2" in said(page)


def test_what_is_wrong_is_told_by_row_and_stops_nothing_else(data: Path) -> None:
    bars = dataset_reader.load(data, "SIM/ETH", "1m")
    good, bad = trade_on(bars, 700, 760), trade_on(bars, 900, 911, "up", "bad")
    write(data, [good, bad])
    page = opened()
    assert "cannot be trained on before the 1 error below are mended" in said(page)
    assert page.subheader[0].value == "Findings: 1 error, 0 warnings"
    table = page.dataframe[0].value
    assert (table["Row"][0], table["Field"][0], table["Effect"][0]) == (3, "side", "stops training")
    assert "1 of 1" in said(page)


def test_no_dataset_is_told_with_what_to_do(data: Path) -> None:
    shutil.rmtree(data)
    page = opened()
    assert "No dataset yet" in said(page)


def test_a_version_whose_files_are_gone_is_told(data: Path) -> None:
    gone = "0" * 32 + ".dir"
    (data.parent / "data.dvc").write_text(f"outs:\n- md5: {gone}\n  path: data\n")
    page = opened(data=gone[:7])
    assert "0000000" in page.warning[0].value
    assert "dvc fetch" in page.warning[0].value


@pytest.mark.parametrize("name", ["Prefect", "MLflow"])
def test_the_view_opens_with_a_service_down(data: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(backend, "services", lambda: [service(name, up=False)])
    page = opened()
    assert page.warning[0].value.startswith(f"{name} does not answer")
    assert "2 trades" in said(page)


@pytest.mark.parametrize("text", [" | ".join(TEXTS), TEXTS[0]], ids=["all", "first"])
def test_text_of_people_is_text(data: Path, text: str) -> None:
    bars = dataset_reader.load(data, "SIM/ETH", "1m")
    written = {"annotator": text, "note": text}
    write(data, [trade_on(bars, 700, 760, name=text) | written, trade_on(bars, 900, 911, "up", name="b") | written])
    info = json.loads((data / "dataset.json").read_text())
    (data / "dataset.json").write_text(json.dumps(info | {"name": text}))
    page = opened()
    assert "Trade" in said(page)
    assert not live(said(page))


def test_a_chart_carries_no_text_of_people(data: Path) -> None:
    bars = dataset_reader.load(data, "SIM/ETH", "1m")
    write(data, [trade_on(bars, 700, 760, name=TEXTS[0]) | {"annotator": TEXTS[0], "note": TEXTS[0]}])
    name = version(data)
    (trade,) = dataset_reader.trades(name)
    window = dataset_reader.window(name, "SIM/ETH", "1m", trade.entry_time)
    points, lines = trade_marks.marks(window, trade, [])
    spec = candles.chart(window, candles.frame(window), points, lines)
    spec.pop("dataset")
    assert "img" not in json.dumps(spec)


def test_a_window_is_sent_and_never_a_whole_file(data: Path) -> None:
    bars = dataset_reader.load(data, "SIM/ETH", "1m")
    monkey = dataset_reader.SENT_BARS
    dataset_reader.SENT_BARS = 100
    try:
        window = dataset_reader.window(version(data), "SIM/ETH", "1m", int(bars.open_time[700]) + 30)
    finally:
        dataset_reader.SENT_BARS = monkey
    assert len(window.open_time) == 200
    assert window.open_time[window.middle] == bars.open_time[700]
    assert window.place(int(bars.open_time[700]) + 59) == window.middle
    assert window.visible(int(bars.open_time[700])) == window.middle - 1


def test_the_decision_line_stands_at_the_last_candle_that_had_closed(data: Path) -> None:
    name = version(data)
    trade = dataset_reader.trades(name)[0]
    for timeframe in ("1m", "5m", "15m"):
        window = dataset_reader.window(name, "SIM/ETH", timeframe, trade.entry_time)
        seen = window.visible(trade.decided_at)
        assert window.open_time[seen] + window.step_s <= trade.decided_at
        assert window.open_time[seen + 1] + window.step_s > trade.decided_at
        lines = trade_marks.limits(window, candles.labels(window), trade)
        assert lines[-1]["xAxis"] == candles.labels(window)[seen]


def test_labels_of_candles_are_never_twice(data: Path) -> None:
    for step_s, timeframe in ((60, "1m"), (14_400, "4h"), (86_400, "1d")):
        times = 1_700_000_000 // step_s * step_s + step_s * dataset_reader.np.arange(3000)
        window = dataset_reader.Window(timeframe, times, dataset_reader.np.ones((3000, 5)), 0)
        assert len(set(candles.labels(window))) == 3000


@pytest.mark.parametrize("text", [*TEXTS, "'=1", "''=1", "'quoted'", "-5.2", "plain"], ids=repr)
def test_an_export_is_no_formula_and_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    bars = write_root(tmp_path / "data")
    row = trade_on(bars, 700, 760) | {"note": text}
    columns = {name: [float(cell) if name.endswith("price") else cell] for name, cell in row.items()}
    exported = inert.as_csv(columns)
    cell = next(csv.DictReader(io.StringIO(exported)))["note"]
    assert not cell.startswith(tuple("=+-@\t\r"))
    path = tmp_path / "back.csv"
    path.write_text(exported, encoding="utf-8", newline="")
    back = read_cells(path)[0][1]
    visible = "".join(char if char.isprintable() else " " for char in text)
    assert back["note"] == visible.strip()
    assert read_annotation_file(path).rejected == 0
    assert float(back["entry_price"]) == float(row["entry_price"])


def test_exported_trades_are_the_same_when_they_are_read_back(data: Path, tmp_path: Path) -> None:
    bars = dataset_reader.load(data, "SIM/ETH", "1m")
    texts = [text.replace("\x00", "").replace("\u202e", "") for text in TEXTS]
    rows = [trade_on(bars, 700 + i, 760 + i, name=f"={i}") | {"note": text} for i, text in enumerate(texts)]
    write(data, rows)
    path = tmp_path / "back.csv"
    path.write_text(trade_export.trades_csv(version(data)), encoding="utf-8", newline="")
    before, after = read_cells(data / "annotations.csv"), read_cells(path)
    assert [cells["note"] for _, cells in after] == [cells["note"] for _, cells in before]
    assert parse(after, "")[0] == parse(before, "")[0]
    assert len(parse(after, "")[0]) == len(TEXTS)


def test_headers_of_an_export_are_no_formulas() -> None:
    header: Callable[[str], str] = lambda name: inert.as_csv({name: [1, -5.2]}).splitlines()[0]  # noqa: E731
    assert header("=h") == "'=h"
    assert inert.as_csv({"a": [-5.2]}).splitlines()[1] == "-5.2"


def test_what_a_link_names_and_is_not_there_is_said(data: Path) -> None:
    page = opened(data="nope", trade="t0")
    assert [word.value for word in page.warning] == [
        "The link's dataset version nope is not known here; another one is shown.",
        "The link's trade t0 is not in this version; another one is shown.",
    ]
