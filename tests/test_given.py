"""Options that contradict each other or are empty: refused in one sentence that names them, before anything is made."""

from pathlib import Path

import pytest
from app_project import small_project
from command_line import ended


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small_project(tmp_path, monkeypatch)
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence of a command that ends with code 2 and has made no run."""
    code, out, err = ended(monkeypatch, capsys, *words)
    assert (code, out) == (2, ""), err
    assert len(err.strip().splitlines()) == 1
    return err


@pytest.mark.parametrize("door", ["run", "trigger"])
def test_a_folder_and_a_version_together_are_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], door: str
) -> None:
    said = refused(monkeypatch, capsys, door, "--dataset-version", "e62", "--data", "data")
    assert "--data data and --dataset-version e62 are both given, expected one of them" in said
    assert not (project / "state" / "runs").exists()


EMPTY = {
    "--dataset-version": ["run", "--dataset-version", ""],
    "--data": ["run", "--data", ""],
    "--key": ["trigger", "--key", ""],
    "--dataset-version of trigger": ["trigger", "--dataset-version", " "],
    "RUN_ID": ["status", ""],
    "VERSION": ["data", "use", ""],
    "ROOT": ["data", "describe", ""],
    "--name": [
        *("data", "import", "--to", "new", "--annotations", "data/annotations.csv", "--name", ""),
        *("--candles", "SIM/ETH:1m=data/candles/SIM_ETH/1m.parquet", "--primary", "SIM/ETH"),
        *("--reference", "SIM/ETH", "--timeframes", "1m"),
    ],
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_value_is_refused_by_its_name(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert f"error: {name.split()[0]} is empty, expected a value" in refused(monkeypatch, capsys, *EMPTY[name])
    assert not (project / "state" / "runs").exists()
    assert not (project / "new").exists()
