"""A state folder that was renamed or copied keeps its versions, and nothing is written to where it was."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from record import give_record
from trained import trained

from flows import logged, runfile, sync, tracking
from flows.project import Project
from flows.relocation import relocate

RUN, LATER = "20261130-120000-abcdef", "20261130-120001-abcdef"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """With one registered version."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    made = give_record(Project(root=tmp_path, state=tmp_path / "state"))
    register(made, RUN)
    return made


def register(project: Project, run_id: str) -> None:
    trained(project, run_id, steps=3)
    runfile.update(project.workspace(run_id), state="done", recorded=False)
    assert sync.sync(project, print).runs == (run_id,)


def test_versions_of_a_folder_that_moved_are_found_and_new_ones_lie_in_it(project: Project) -> None:
    moved = Project(root=project.root, state=project.state.with_name("moved there"))
    project.state.rename(moved.state)
    register(moved, LATER)
    for version in (1, 2):
        target = moved.state / f"fetched-{version}"
        logged.download(tracking.client(moved), "pivotline", version, target)
        assert (target / "weights.safetensors").is_file()
    assert not project.state.exists()


def test_a_copy_and_the_folder_it_was_made_of_keep_their_own_files(project: Project) -> None:
    copy = Project(root=project.root, state=shutil.copytree(project.state, project.state.with_name("state-copy")))
    register(copy, LATER)
    shutil.rmtree(copy.state)
    logged.download(tracking.client(project), "pivotline", 1, project.state / "fetched")
    assert len(list((project.state / "mlartifacts" / "models").iterdir())) == 1


def test_names_elsewhere_stay_as_they_are(project: Project) -> None:
    database, old = project.state / "mlflow.db", (project.state / "mlartifacts").as_uri()
    beside = f"{old}-of-another/1/artifacts"
    with sqlite3.connect(database) as file:
        file.execute("UPDATE runs SET artifact_uri = ?", (beside,))
    relocate(database, tracking.EXPERIMENT, "file:///new/mlartifacts")
    with sqlite3.connect(database) as file:
        assert file.execute("SELECT artifact_uri FROM runs").fetchall() == [(beside,)]
        ((model,),) = file.execute("SELECT artifact_location FROM logged_models").fetchall()
    assert model.startswith("file:///new/mlartifacts/models/m-")
    assert old not in model


def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_bytes(b"no database" * 700)
    with pytest.raises(OSError, match="not a database") as refused:
        relocate(tmp_path / "mlflow.db", tracking.EXPERIMENT, "file:///new")
    assert tracking.first_line(refused.value) == tracking.DAMAGED
