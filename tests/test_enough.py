"""Candles that do not reach far enough back: found before a run, told with the stream, the numbers and the remedy."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from app_project import small_project
from checkout import ROOT
from command_line import ended
from data_root import INFO, trade_on, walk, write_candles, write_root, write_trades
from streamlit.testing.v1 import AppTest

from dataset.config import PreprocessConfig
from dataset.enough import history_findings
from dataset.samples import build
from dataset.schema import candle_path, write_info
from flows.imports import Upload, Wanted, bring_in
from flows.params import Params, change, write_params

SHORT = "SIM/ETH 15m has at most 60 candles of a window, expected 100"
REMEDY = (
    "leave 15m out of the timeframes, give its own candles with --candles SIM/ETH:15m=FILE, or lower preprocess.min"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_root(tmp_path / "data")
    return tmp_path / "data"


def test_a_stream_that_no_window_finds_long_enough_is_named_with_the_remedy(root: Path) -> None:
    (found,) = history_findings(root, PreprocessConfig())
    assert (found.severity, found.rule, found.file) == ("error", "history", "candles/SIM_ETH/15m.parquet")
    assert found.message.startswith(f"{SHORT}: {REMEDY}")
    with pytest.raises(ValueError, match="no sample has enough history") as caught:
        build(root, PreprocessConfig())
    assert str(caught.value) == f"no sample has enough history: {found.message}"


def test_what_gives_a_sample_has_no_finding(root: Path) -> None:
    assert history_findings(root, PreprocessConfig(min_history=0.3)) == []
    assert history_findings(root, PreprocessConfig(seq_len=20)) == []


def test_streams_that_cannot_be_left_out_are_to_begin_earlier(tmp_path: Path) -> None:
    primary = write_root(tmp_path / "data")
    write_info(tmp_path / "data", replace(INFO, timeframes=("1m",)))
    write_trades(tmp_path / "data", [trade_on(primary, 10, 30)])
    first, _ = history_findings(tmp_path / "data", PreprocessConfig())
    assert "SIM/ETH 1m has at most 31 candles" in first.message
    assert ": give candles that begin earlier with --candles SIM/ETH:1m=FILE, or lower" in first.message
    write_trades(tmp_path / "data", [trade_on(primary, 700, 760)])
    write_candles(tmp_path / "data", "SIM/BTC", walk(100, seed=2, start=int(primary.open_time[700])))
    (last,) = history_findings(tmp_path / "data", PreprocessConfig())
    assert "SIM/BTC 1m has at most 61 candles" in last.message
    assert ": give candles that begin earlier with --candles SIM/BTC:1m=FILE" in last.message


def test_a_stream_without_a_complete_candle_is_found_too(root: Path) -> None:
    write_info(root, replace(INFO, timeframes=("1m", "2d")))
    (found,) = history_findings(root, PreprocessConfig())
    assert "stream SIM/ETH 2d has no complete candle" in found.message


def test_the_import_that_the_readme_shows_gives_samples_of_a_month_of_minutes(tmp_path: Path) -> None:
    shown = re.search(r"--timeframes (\S+) ", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown is not None
    month = walk(30 * 24 * 60)
    write_root(tmp_path / "data", [trade_on(month, 40_000, 40_060)])
    write_info(tmp_path / "data", replace(INFO, timeframes=tuple(shown[1].split(","))))
    (candle_path(tmp_path / "data", "SIM/ETH", "15m")).unlink()
    for symbol in ("SIM/ETH", "SIM/BTC"):
        write_candles(tmp_path / "data", symbol, month)
    assert history_findings(tmp_path / "data", PreprocessConfig()) == []


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose own settings ask for more history than its dataset has."""
    small_project(tmp_path, monkeypatch)
    write_params(tmp_path / "params.yaml", Params())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def import_words(steps: str) -> list[str]:
    candles = [f"SIM/{name}:1m=data/candles/SIM_{name}/1m.parquet" for name in ("ETH", "BTC")]
    words = ["data", "import", "--to", "new", "--annotations", "data/annotations.csv", "--timeframes", steps]
    return [*words, "--primary", "SIM/ETH", "--reference", "SIM/BTC", "--candles", candles[0], "--candles", candles[1]]


def test_validate_and_the_summary_of_an_import_tell_it_before_a_run(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = ended(monkeypatch, capsys, *import_words("1m,15m"))
    assert code == 0
    assert "\n1 warning: see pivotline data validate new\ncandles/SIM_ETH/1m.parquet: " + SHORT in out
    code, out, err = ended(monkeypatch, capsys, "data", "validate", "new")
    assert (code, err) == (2, "error: new: 1 error to mend\n")
    assert SHORT in out
    code, out, err = ended(monkeypatch, capsys, *import_words("1m"), "--replace", "--json")
    assert (code, json.loads(out)["warnings"]) == (0, [])
    assert ended(monkeypatch, capsys, "data", "validate", "new")[1] == "No findings.\n"


def test_the_summary_of_an_import_counts_jumps_and_idle_candles(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bars = walk(1500)
    bars.values[1200:, :4] *= 10
    bars.values[1300, 4] = 0
    write_candles(project / "data", "SIM/ETH", bars)
    code, out, _ = ended(monkeypatch, capsys, *import_words("1m"))
    assert code == 0
    head, _, told = out.partition("\n2 warnings: see pivotline data validate new\n")
    assert head
    assert ["1m.parquet row 1202, close" in told, "1 candles have no volume" in told] == [True, True]


def test_the_page_is_told_it_of_files_that_were_sent(project: Path) -> None:
    for package in ("flows", "dataset", "model"):
        (project / package).symlink_to(Path(__file__).parents[1] / package)
    sent = [
        Upload(label=f"{name}.parquet", content=path.read_bytes(), symbol=f"SIM/{name}", timeframe="1m")
        for name in ("ETH", "BTC")
        for path in [project / "data" / "candles" / f"SIM_{name}" / "1m.parquet"]
    ]
    wanted = Wanted(name="x", primary="SIM/ETH", reference="SIM/BTC", timeframes=("1m", "15m"))
    annotations = Upload(label="a.csv", content=(project / "data" / "annotations.csv").read_bytes())
    (told,) = bring_in(annotations, sent, wanted).report["warnings"]
    assert SHORT in told


def test_a_description_has_no_heading_without_words(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {"preprocess": {"seq_len": 20, "no_trades_per_trade": 0}}
    write_params(project / "params.yaml", change(Params(), few))
    code, out, _ = ended(monkeypatch, capsys, "data", "describe")
    assert code == 0
    assert "samples_by_kind" in out
    assert not [line for line in out.splitlines() if len(line.split()) < 2]
    facts = json.loads(ended(monkeypatch, capsys, "data", "describe", "--json")[1])
    assert (facts["refused"], facts["warnings"]) == ([], [])


def test_the_page_offers_the_timeframes_that_a_month_of_minutes_has_enough_of() -> None:
    page = AppTest.from_function(own_candles).run()
    assert not page.exception
    assert page.multiselect[0].value == ["1m", "15m", "1h"]


def own_candles() -> None:
    from app.candle_files import candle_files

    candle_files(100)
