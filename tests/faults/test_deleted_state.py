"""The state folder, or a run's own, is deleted while a run trains: it ends with a sentence, and makes nothing anew."""

import shutil
from pathlib import Path

import pytest
from scripted import Command, arrived, living, make, wait_for

from flows.project import Project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make(tmp_path_factory.mktemp("deleted"))


@pytest.mark.parametrize("what", ["the run's folder", "the state folder"])
def test_a_folder_that_is_deleted_under_a_run(project: Project, what: str) -> None:
    process = Command(project, "run", "--set", f"train.seed={30 + len(what)}", TRIAL="preprocess:polite")
    workspace = arrived(project, process)
    deleted: Path = workspace if what == "the run's folder" else project.state
    shutil.rmtree(deleted)
    try:
        wait_for(lambda: not process.runs(), 30)
        said = process.said().splitlines()
        assert process.wait() == 3, said
        assert said[-1] == f"error: the folder of run {workspace.name} is gone ({workspace}); nothing else was touched"
        assert [line.split()[0] for line in said[:-1]] == ["run", "dataset"], said
        assert not deleted.exists()
        wait_for(lambda: not living(workspace), 10)
    finally:
        process.process.kill()
