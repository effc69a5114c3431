"""The annotations are edited while a run trains: it keeps to its own, and says that there is newer data."""

import pytest
from gated import make, open_all, shut
from scripted import Command, arrived, pivotline, record
from stage import history

from dataset.versions import version
from flows import registry, tracking

pytestmark = pytest.mark.slow


def test_an_edit_at_the_fifth_update_changes_nothing_in_the_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    project = make(tmp_path_factory.mktemp("edited"))
    data = project.root / "data"
    frozen = version(data)
    shut(project, "update-5")
    process = Command(project, "run")
    workspace = arrived(project, process)
    assert "newer data" not in pivotline(project, "status", workspace.name)[1]
    with (data / "annotations.csv").open("r+b") as notes:  # in place, as an editor may do it
        notes.truncate(notes.read().rstrip().rfind(b"\n") + 1)
    said = pivotline(project, "status", workspace.name)[1]
    assert f"newer data exists: data/ holds dataset version {version(data)[:7]} now" in said
    (workspace / "go").touch()
    assert process.wait() == 0, process.said()
    assert record(workspace)["dataset_version"] == version(workspace / "data") == frozen
    assert registry.views(tracking.client(project), "pivotline")[0].dataset_version == frozen

    shut(project, "nowhere")
    open_all(project)
    code, said = pivotline(project, "run", "--dataset-version", frozen)
    assert code == 0, said
    again = max(project.runs.glob("*-*-*"))
    assert record(again)["stages"]["train"]["state"] == "done"  # trained, not restored
    assert history(again) == history(workspace)
