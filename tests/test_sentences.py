"""What a user reads of an error: never without end, and nothing that a terminal would carry out."""

import json
import os
import shutil
from pathlib import Path

import pytest
from app_project import small_project
from command_line import ended
from foreign import TEXTS
from streamlit.testing.v1 import AppTest

from dataset.importers import CandleSource, import_dataset
from flows.errors import (
    MOST_CHARACTERS,
    MOST_LINES,
    REPORT_VARIABLE,
    RESOURCES,
    bounded,
    classify,
    read_report,
    stage_main,
)
from flows.imports import Upload, Wanted, bring_in

BELL = "\x1b]0;taken over\x07\x1b[31mred"


def test_a_long_sentence_is_cut_and_says_how_long_it_was() -> None:
    said = classify(ValueError("x" * 2_000_000)).message
    assert len(said) == MOST_CHARACTERS
    assert said.endswith("… (cut: 2,000,000 characters in all)")
    assert classify(ValueError(said)).message == said


def test_of_a_folder_that_was_not_copied_the_first_file_is_told_and_the_others_counted(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    for name in ("a", "b", "c"):
        os.mkfifo(tmp_path / "source" / name)
    with pytest.raises(shutil.Error) as caught:
        shutil.copytree(tmp_path / "source", tmp_path / "target")
    said = classify(caught.value)
    assert said.code == RESOURCES
    assert said.message.startswith(f"`{tmp_path / 'source'}/")
    assert said.message.endswith(", and 2 files more were not copied; `pivotline prune` may free room")


def test_of_many_lines_the_first_are_told_and_the_others_counted() -> None:
    said = classify(ValueError("\n".join(f"row {i}" for i in range(100_000)))).message
    assert said.splitlines()[0] == "row 0"
    assert said.splitlines()[-1] == f"… and {100_000 - MOST_LINES + 1:,} lines more"
    assert len(said.splitlines()) == MOST_LINES
    assert bounded(said) == said


@pytest.mark.parametrize("text", [*TEXTS, BELL], ids=repr)
def test_nothing_of_a_sentence_is_carried_out_by_a_terminal(text: str) -> None:
    said = classify(ValueError(text)).message
    assert all(line.isprintable() for line in said.split("\n"))
    assert len(said) == len(text)


def test_a_stage_says_and_leaves_the_same_bounded_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def body() -> None:
        raise ValueError(BELL + "x" * 2000)

    monkeypatch.setenv(REPORT_VARIABLE, str(tmp_path / "error.json"))
    monkeypatch.setattr("flows.owner.watch", lambda: None)
    with pytest.raises(SystemExit):
        stage_main(body)
    said = capsys.readouterr().err
    report = read_report(tmp_path / "error.json")
    assert report is not None
    assert said == f"error: {report.message}\n"
    assert len(report.message) == MOST_CHARACTERS
    assert "\x1b" not in said


def test_a_library_that_finds_no_room_is_a_shortage_of_memory(tmp_path: Path) -> None:
    error = ImportError("libtorch_cpu.so: failed to map segment from shared object")
    assert classify(error).code == RESOURCES
    assert "out of memory while loading libtorch_cpu.so; raise the limit" in classify(error).message


@pytest.mark.parametrize("left", ["", " " * 4096, "{", "[1]"])
def test_a_report_that_was_not_written_whole_is_none(tmp_path: Path, left: str) -> None:
    (tmp_path / "error.json").write_text(left)
    assert read_report(tmp_path / "error.json") is None


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small_project(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def many_columns(path: Path, first: str = "a") -> Path:
    path.write_text(",".join([first, *(f"column_{i}" for i in range(200_000))]) + "\n", encoding="utf-8")
    return path


def test_a_file_of_many_columns_is_told_by_the_first_of_them(project: Path) -> None:
    wide = many_columns(project / "wide.csv")
    candles = [CandleSource("SIM/ETH", "1m", wide)]
    for annotations in (wide, project / "data" / "annotations.csv"):
        with pytest.raises(ValueError, match=r"column_10 and 199,989 more$") as caught:
            import_dataset(project / "new", annotations, candles, "SIM/ETH", "SIM/ETH", ["1m"], "new")
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("as_json", [False, True])
def test_the_bytes_of_a_header_do_not_reach_the_terminal(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    words = ["data", "import", "--to", "new", "--annotations", str(many_columns(project / "w.csv", BELL))]
    words += ["--candles", "SIM/ETH:1m=data/candles/SIM_ETH/1m.parquet", "--timeframes", "1m"]
    words += ["--primary", "SIM/ETH", "--reference", "SIM/ETH", *(["--json"] if as_json else [])]
    code, out, err = ended(monkeypatch, capsys, *words)
    assert code == 2
    assert "column annotation_id is missing, found \ufffd]0;taken over" in err
    assert "\x1b" not in out + err
    assert len(err) < MOST_CHARACTERS + 20
    assert not as_json or json.loads(out)["error"] in err


def test_words_of_the_command_line_itself_are_bounded_too(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = ended(monkeypatch, capsys, BELL + "x" * 5000)
    assert code == 2
    assert "\x1b" not in err
    assert len(err) < MOST_CHARACTERS + 20


def test_what_a_dataset_says_of_itself_is_shown_without_its_bytes(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    info = json.loads((project / "data" / "dataset.json").read_text())
    (project / "data" / "dataset.json").write_text(json.dumps(info | {"name": BELL}))
    _, out, err = ended(monkeypatch, capsys, "data", "describe")
    assert "\x1b" not in out + err
    assert "]0;taken over" in out


def test_the_page_is_told_the_same_bounded_sentence(project: Path) -> None:
    for package in ("flows", "dataset", "model"):
        (project / package).symlink_to(Path(__file__).parents[1] / package)
    content = many_columns(project / "w.csv", BELL).read_bytes()
    wanted = Wanted(name="x", primary="SIM/ETH", reference="SIM/ETH", timeframes=("1m",))
    one = Upload(label="c.csv", content=b"a", symbol="SIM/ETH", timeframe="1m")
    with pytest.raises(ValueError, match="column annotation_id is missing") as caught:
        bring_in(Upload(label="w.csv", content=content), [one], wanted)
    said = classify(caught.value).message
    assert len(said) < 400
    assert "\x1b" not in said


def test_the_page_counts_all_findings_of_a_refusal_that_was_cut() -> None:
    page = AppTest.from_function(refused_import).run()
    assert not page.exception
    assert page.error[0].value.startswith("5,000 findings, the first: row 0.")
    (table,) = [entry.proto for entry in page.get("bidi_component")]
    assert len(json.loads(table.json)["rows"]) == MOST_LINES


def refused_import() -> None:
    import streamlit as st

    from app import importing
    from flows.errors import classify

    lines = ["row 0 (4999 more)", *(f"row {i}" for i in range(1, 5000))]
    st.session_state[importing.REFUSED] = classify(ValueError("\n".join(lines))).message
    importing.result([])
