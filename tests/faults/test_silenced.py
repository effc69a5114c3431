"""Nobody reads what a command says any more: its reader went away, or the disk behind it is full. The run goes on."""

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest
from scripted import environment, make, record

from flows.project import Project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make(tmp_path_factory.mktemp("silenced"))


def command(project: Project, *words: str, out: Any, err: Any) -> "subprocess.Popen[str]":
    told = [sys.executable, "-m", "flows.cli", *words]
    return subprocess.Popen(told, cwd=project.root, env=environment(project), stdout=out, stderr=err, text=True)


def first_line(stream: IO[str] | None) -> str:
    """Reads one line and goes away."""
    assert stream is not None
    with stream:
        return stream.readline()


def test_a_run_whose_reader_went_away_comes_to_its_end(project: Project) -> None:
    """As `pivotline run --json 2>&1 | head -1` does it."""
    process = command(project, "run", "--json", out=subprocess.PIPE, err=subprocess.STDOUT)
    run_id = first_line(process.stdout).split()[1]
    assert process.wait(120) == 0
    assert record(project.workspace(run_id))["state"] == "done"


def test_a_run_behind_whose_words_the_disk_is_full_comes_to_its_end_and_says_so(project: Project) -> None:
    with Path("/dev/full").open("w") as full:
        process = command(project, "run", "--json", out=full, err=subprocess.PIPE)
        said = process.communicate(timeout=120)[1].splitlines()
    assert process.returncode == 3, said
    assert said[-1] == (
        "error: standard output cannot be written to: No space left on device; the command did its work"
    )
    assert record(project.workspace(said[0].split()[1]))["state"] == "done"


def test_errors_that_nobody_reads_change_no_exit_code(project: Project) -> None:
    with Path("/dev/full").open("w") as full:
        assert command(project, "status", "nonsense", "--json", out=full, err=full).wait(60) == 2
        process = command(project, "status", "--json", out=subprocess.PIPE, err=full)
        assert json.loads(process.communicate(timeout=60)[0])["services"]
        assert process.returncode == 0
