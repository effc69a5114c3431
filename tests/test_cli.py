"""The command line: one sentence and an exit code by class for whatever a user can get wrong; JSON for machines."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import copy_project
from small_disk import small_disk

from dataset.versions import version
from flows.project import Project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copy_project(tmp_path_factory.mktemp("cli") / "project")


def pivotline(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_", "PIVOT"))}
    command = [sys.executable, "-m", "flows.cli", *words]
    env = kept | {"PYTHONPATH": str(folder)} | more
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """A sentence with these words on standard error, this exit code, and no traceback."""
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert not [word for word in words if word not in done.stderr], done.stderr


ANNOTATION_FAULTS = {
    "missing column": (lambda text: text.replace(",side,", ",direction,", 1), "side"),
    "unknown side": (lambda text: text.replace(",long,", ",up,", 1), "side"),
    "exit before entry": (lambda text: swap_times(text), "exit_time"),
    "time without zone": (lambda text: text.replace("Z,", ",", 1), "time"),
    "price outside its candle": (lambda text: other_price(text), "entry_price"),
    "trade outside the candles": (lambda text: other_year(text), "time"),
}


def first_row(text: str) -> tuple[list[str], list[str], list[str]]:
    head, row, *rest = text.splitlines()
    return head.split(","), row.split(","), rest


def joined(head: list[str], row: list[str], rest: list[str]) -> str:
    return "\n".join([",".join(head), ",".join(row), *rest]) + "\n"


def swap_times(text: str) -> str:
    head, row, rest = first_row(text)
    entry, exit_ = head.index("entry_time"), head.index("exit_time")
    row[entry], row[exit_] = row[exit_], row[entry]
    return joined(head, row, rest)


def other_price(text: str) -> str:
    head, row, rest = first_row(text)
    row[head.index("entry_price")] = "99999.0"  # above the stop of a long trade
    return joined(head, row, rest)


def other_year(text: str) -> str:
    head, row, rest = first_row(text)
    for name in ("entry_time", "exit_time"):
        row[head.index(name)] = "2031" + row[head.index(name)][4:]
    return joined(head, row, rest)


def import_words(project: Project, annotations: Path, target: Path) -> list[str]:
    candles = project.root / "data" / "candles"
    words = ["data", "import", "--to", str(target), "--annotations", str(annotations), "--primary", "SIM/ETH"]
    words += ["--reference", "SIM/BTC", "--timeframes", "1m,5m,15m,1h"]
    for symbol in ("SIM/ETH", "SIM/BTC"):
        words += ["--candles", f"{symbol}:1m={candles / symbol.replace('/', '_') / '1m.parquet'}"]
    return words


@pytest.mark.parametrize("name", ["a?b", "50%20", "a\nb"])
def test_a_state_folder_whose_name_no_database_can_have_is_refused(project: Project, tmp_path: Path, name: str) -> None:
    """The databases would lie beside it, under half its name."""
    done = pivotline(project.root, "run", PIVOTLINE_STATE=str(tmp_path / name))
    refused(done, 2, "no database can be addressed there", "PIVOTLINE_STATE")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fault", ANNOTATION_FAULTS)
def test_a_bad_annotation_file_is_refused_and_leaves_all_as_it_was(
    project: Project, tmp_path: Path, fault: str
) -> None:
    break_it, field = ANNOTATION_FAULTS[fault]
    original = (project.root / "data" / "annotations.csv").read_text(encoding="utf-8")
    bad = tmp_path / "trades.csv"
    bad.write_text(break_it(original), encoding="utf-8")
    assert bad.read_text(encoding="utf-8") != original
    target = tmp_path / "target"
    done = pivotline(project.root, *import_words(project, bad, target))
    refused(done, 2, "trades.csv", field)
    if fault != "missing column":
        assert "row 2" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trades.csv"]


def test_a_good_file_is_imported_counted_and_described(project: Project, tmp_path: Path) -> None:
    annotations = project.root / "data" / "annotations.csv"
    done = pivotline(project.root, *import_words(project, annotations, tmp_path / "target"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trades"] == 51
    facts = json.loads(pivotline(project.root, "data", "describe", str(tmp_path / "target"), "--json").stdout)
    assert (facts["trades"], facts["samples"]) == (51, 255)
    assert pivotline(project.root, "data", "validate", str(tmp_path / "target")).returncode == 0


def test_run_refuses_bad_settings_and_missing_data_before_it_begins(project: Project) -> None:
    before = version(project.root / "data")
    refused(pivotline(project.root, "run", "--set", "train.epocs=3"), 2, "unknown key train.epocs")
    refused(pivotline(project.root, "run", "--set", "train.epochs=0"), 2, "epochs is 0")
    refused(pivotline(project.root, "run", "--set", "epochs"), 2, "expected section.key=value")
    refused(pivotline(project.root, "run", "--data", "/nowhere"), 2, "/nowhere", "no such folder")
    (project.root / "data").rename(project.root / "elsewhere")
    refused(pivotline(project.root, "run"), 2, "data", "dvc pull")
    (project.root / "elsewhere").rename(project.root / "data")
    assert version(project.root / "data") == before
    assert not list(project.runs.glob("*"))


def test_a_folder_that_is_no_project_is_named(tmp_path: Path) -> None:
    done = pivotline(tmp_path, "run", PYTHONPATH=str(Path(__file__).parents[1]))
    refused(done, 2, str(tmp_path), "params.yaml")
    assert not list(tmp_path.iterdir())


def test_services_that_are_down_are_named_with_the_remedy(project: Project) -> None:
    told = {"PREFECT_API_URL": "http://127.0.0.1:9/api", "MLFLOW_TRACKING_URI": "http://127.0.0.1:9"}
    refused(pivotline(project.root, "trigger", **told), 4, "Prefect does not answer", "make up")
    done = pivotline(project.root, "status", "--json", **told)
    assert done.returncode == 0
    assert [(entry["name"], entry["up"]) for entry in json.loads(done.stdout)["services"]] == [
        ("Prefect", False),
        ("MLflow", False),
        ("Worker", False),
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--set", "train.epochs=[1"],
        ["run", "--set", "train.epochs=!!python/object:x 1"],
        ["trigger", "--set", "train.epochs=\t@"],
        ["run", "--set", "register.name=../x"],
    ],
)
def test_a_setting_that_is_no_value_is_bad_input_and_named(project: Project, words: list[str]) -> None:
    done = pivotline(project.root, *words, PREFECT_API_URL="http://127.0.0.1:9/api")
    refused(done, 2, "--set train" if "train" in words[-1] else "register: name")
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("status --limit 0", "--limit"),
        ("up --app-port 0", "--app-port"),
        ("model memory --device-gb 0", "--device-gb"),
        ("model memory --batch auto", "--batch"),
        ("model memory --batch 0", "--batch"),
        ("model memory --seq-len x", "--seq-len"),
        ("status --limit", "--limit"),
        ("cancel", "run_id"),
    ],
)
def test_the_option_that_is_off_is_named(project: Project, words: str, named: str) -> None:
    done = pivotline(project.root, *words.split())
    refused(done, 2, named)
    assert len(done.stderr.strip().splitlines()) == 1
    assert " or auto" not in done.stderr  # which --batch does not take


def test_numbers_without_end_are_bad_input(project: Project) -> None:
    refused(pivotline(project.root, "model", "memory", "--device-gb", "inf"), 2, "--device-gb is inf")


def test_a_folder_that_is_no_dataset_makes_no_run(project: Project, tmp_path: Path) -> None:
    refused(pivotline(project.root, "run", "--data", str(tmp_path)), 2, str(tmp_path), "dataset.json")
    assert not list(project.runs.glob("*"))


@pytest.mark.parametrize("folder", ["/proc/none/at/all", "/etc/passwd"])
def test_a_state_folder_that_cannot_be_made_is_named_with_its_variable(project: Project, folder: str) -> None:
    refused(pivotline(project.root, "run", PIVOTLINE_STATE=folder), 3, folder, "PIVOTLINE_STATE")


def test_a_state_folder_on_a_read_only_disk_is_named_with_its_variable(project: Project, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        (disk / "locks").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for words in (["up"], ["run"]):
            done = pivotline(project.root, *words, PIVOTLINE_STATE=str(disk))
            refused(done, 3, str(disk), "cannot be written to", "PIVOTLINE_STATE")
            assert "prune" not in done.stderr


def test_settings_that_are_no_text_are_named_by_file(project: Project) -> None:
    path = project.root / "params.yaml"
    kept = path.read_bytes()
    path.write_bytes(b"\x9b\xff\x00")
    done = pivotline(project.root, "run")
    path.write_bytes(kept)
    refused(done, 2, "params.yaml", "not YAML")


def test_one_damaged_record_hides_no_other_run(project: Project) -> None:
    for second, content in ((1, "{"), (2, "[]"), (3, "{}"), (4, "")):
        folder = project.runs / f"20261130-12000{second}-abcdef"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(content, encoding="utf-8")
    done = pivotline(project.root, "status", "--json", PREFECT_API_URL="garbage")
    shutil.rmtree(project.runs)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [entry["state"] for entry in found["runs"]] == ["failed"] * 4
    assert all("run.json cannot be read" in entry["message"] for entry in found["runs"])
    assert "garbage" in found["services"][0]["detail"]


def test_columns_parted_by_semicolons_are_told_so(project: Project, tmp_path: Path) -> None:
    bad = tmp_path / "trades.csv"
    text = (project.root / "data" / "annotations.csv").read_text(encoding="utf-8")
    bad.write_text(text.replace(",", ";"), encoding="utf-8")
    done = pivotline(project.root, *import_words(project, bad, tmp_path / "target"))
    refused(done, 2, "trades.csv row 1", "parted by semicolons, expected commas")


def test_errors_are_json_for_machines(project: Project) -> None:
    done = pivotline(project.root, "run", "--set", "train.epochs=0", "--json")
    assert json.loads(done.stdout)["code"] == 2


def test_unknown_words_end_with_code_2(project: Project) -> None:
    refused(pivotline(project.root, "trian"), 2, "trian")
    refused(pivotline(project.root, "status", "../../etc"), 2, "run id")


@pytest.mark.parametrize(
    "words", [["--help"], ["run", "--help"], ["data", "import", "--help"], ["model", "size", "--help"]]
)
def test_every_command_explains_itself(project: Project, words: list[str]) -> None:
    done = pivotline(project.root, *words)
    assert done.returncode == 0
    assert "Usage" in done.stdout
