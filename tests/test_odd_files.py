"""What no program of ours puts into a state folder: pipes and sockets for files, folders in folders without end."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_another_user import GOOD, make, run, said

from flows import disk
from flows.project import Project

BAD = "20261130-120001-bbbbbb"


def a_pipe_for_a_record(project: Project) -> None:
    (run(project, BAD) / "run.json").unlink()
    os.mkfifo(project.workspace(BAD) / "run.json")


def a_socket_for_a_record(project: Project) -> None:
    path = run(project, BAD) / "run.json"
    path.unlink()
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(path.parent)  # a socket's name may not be long
        made.bind(path.name)


def a_pipe_for_a_lease(project: Project) -> None:
    (project.locks / "leases").mkdir()
    os.mkfifo(project.locks / "leases" / "ab.json")


def a_pipe_for_the_note_of_a_holder(project: Project) -> None:
    run(project, BAD, "running")
    os.mkfifo(project.locks / f"{BAD}.run.holder")


def folders_without_end(project: Project) -> None:
    nest(project.runs, "folder")


def nest(folder: Path, name: str) -> None:
    """Goes into folders of that name, one in another, deeper than a name may be long or a function may call itself."""
    os.chdir(folder)
    for _ in range(1500):
        Path(name).mkdir()
        os.chdir(name)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    here = Path.cwd()
    yield make(tmp_path / "project")
    os.chdir(here)
    subprocess.run(["rm", "-rf", str(tmp_path)], check=True)  # Python's own way ends at a thousand folders


ODD = [
    a_pipe_for_a_record,
    a_socket_for_a_record,
    a_pipe_for_a_lease,
    a_pipe_for_the_note_of_a_holder,
    folders_without_end,
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.__name__)
def test_it_holds_up_neither_status_nor_prune(project: Project, odd: object) -> None:
    run(project, GOOD)
    odd(project)  # type: ignore[operator]
    for words in ("status", "prune --dry-run", "prune"):
        code, found = said(project, *words.split())
        assert code == 0, found
    assert not (project.workspace(GOOD) / "checkpoints" / "step-00000001").exists()


def test_as_much_as_can_be_named_is_counted(project: Project) -> None:
    folder = project.state / "deep"
    folder.mkdir()
    (folder / "above").touch()
    nest(folder, "f")
    Path("below").touch()
    assert [path.name for path, _ in disk.entries(folder)] == ["above", "below"]
