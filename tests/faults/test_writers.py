"""Eight processes write to MLflow's file at once: each waits for the others, and no row is lost or doubled."""

import os
from pathlib import Path

import pytest
from record import give_record
from trained import trained

from flows import runfile, sync, tracking
from flows.project import Project

WRITERS, STEPS = 8, 250


def run_id(number: int) -> str:
    return f"20261130-1200{number:02d}-abcdef"


@pytest.mark.slow
def test_a_busy_file_loses_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that gives up is brought level by the next sync, as its run would be."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    project = give_record(Project(root=tmp_path, state=tmp_path / "state"))
    for number in range(WRITERS):
        trained(project, run_id(number), steps=STEPS)
    children = [child_writes(project, run_id(number)) for number in range(WRITERS)]
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert ended.count(0) >= 1
    sync.sync(project, print)
    client = tracking.client(project)
    for number in range(WRITERS):
        run = tracking.find_run(client, run_id(number))
        assert run is not None
        history = client.get_metric_history(run.info.run_id, "train/loss")
        assert sorted(point.step for point in history) == list(range(1, STEPS + 1))
    assert sync.pending(project) == []


def child_writes(project: Project, name: str) -> int:
    """Brings one run's record level in a process of its own, which opens the file itself; the process."""
    runfile.update(project.workspace(name), state="failed", recorded=False)
    child = os.fork()
    if child:
        return child
    try:
        sync.bring(project, tracking.client(project), project.workspace(name))
        os._exit(0)
    finally:
        os._exit(1)
