"""What a worker lives through: Prefect is away while a run trains, a run crashes and is tried again, its code is gone.

The worker stays up, the run goes on or ends as it was asked for, and Prefect learns of it.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted import Command, living, make, record, wait_for
from serving import PrefectServer, serving, state, worker

from flows import control, queue
from flows.life import newest
from flows.project import Project

pytestmark = pytest.mark.slow
LEVEL_S = 120.0  # two rounds of the patrol and a server's start on a busy machine


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make(tmp_path_factory.mktemp("outage"))


@pytest.fixture(scope="module")
def server(project: Project) -> Iterator[PrefectServer]:
    with serving(project) as started:
        yield started


@pytest.fixture(scope="module")
def serves(project: Project, server: PrefectServer) -> Iterator[Command]:
    started = worker(project, "train:gate")
    yield started
    os.kill(started.pid, signal.SIGTERM)
    started.wait(60)


def training(project: Project, seed: int, retries: int = 0) -> Path:
    """The workspace of a run of the queue whose training waits."""
    settings = {"train": {"seed": seed}, "run": {"retries": retries}}
    folder = project.workspace(control.trigger(settings).run_id)
    wait_for((folder / "arrived").exists, 120)
    return folder


def prefect_says(folder: Path) -> str:
    found = queue.find(record(folder)["flow_run_id"])
    assert found is not None
    assert found.state is not None
    return found.state.type.value


def test_a_training_goes_on_without_prefect_and_its_end_is_told_later(
    project: Project, server: PrefectServer, serves: Command
) -> None:
    folder = training(project, 41)
    server.end()
    (folder / "go").touch()
    wait_for(lambda: state(folder.name) == "done")
    assert record(folder)["result"] is not None
    server.start()
    wait_for(lambda: prefect_says(folder) == "COMPLETED", LEVEL_S)
    assert serves.runs(), serves.said()


def test_a_cancel_without_prefect_ends_the_run_and_is_told_later(
    project: Project, server: PrefectServer, serves: Command
) -> None:
    folder = training(project, 42)
    server.end()
    assert control.cancel(folder.name) == "told its processes to save and end"
    wait_for(lambda: not living(folder) and state(folder.name) == "cancelled", 30)
    wait_for(lambda: "Prefect does not answer: it learns of the end later" in record(folder)["proof"])
    proof = record(folder)["proof"]
    assert proof[1].startswith("training stopped "), proof
    assert any(line.endswith(("processes ended", "1 process ended")) for line in proof), proof
    server.start()
    wait_for(lambda: prefect_says(folder) == "CANCELLED", LEVEL_S)
    later = training(project, 43)  # the slot is free
    (later / "go").touch()
    wait_for(lambda: state(later.name) == "done")


@pytest.mark.parametrize("victim", ["its training", "its process"])
def test_a_crash_is_tried_again_as_often_as_allowed(project: Project, serves: Command, victim: str) -> None:
    """From the newest checkpoint, as a further attempt that the ledger, the view and Prefect know of."""
    folder = training(project, 44 + len(victim), retries=1)
    kill(project, folder, victim)
    (folder / "arrived").unlink()
    wait_for((folder / "arrived").exists, LEVEL_S)
    assert control.run(folder.name).attempt == 2
    assert state(folder.name) == "running"
    if victim == "its training":
        (folder / "go").touch()
        wait_for(lambda: state(folder.name) == "done")
        wait_for(lambda: prefect_says(folder) == "COMPLETED", LEVEL_S)
    else:
        kill(project, folder, victim)
        wait_for(lambda: state(folder.name) == "crashed", LEVEL_S)
    assert record(folder)["retried"] == 1
    assert serves.runs(), serves.said()
    assert f"run {folder.name}: attempt 2, retry 1 of 1 after: " in serves.said()


def kill(project: Project, folder: Path, victim: str) -> None:
    attempt = newest(project, folder.name)  # its note: the ledger learns of a stage a moment later
    assert attempt is not None
    assert attempt.group is not None
    os.kill(attempt.process.pid if victim == "its process" else attempt.group.pid, signal.SIGKILL)
    wait_for(lambda: not living(folder))


def test_code_that_cannot_be_loaded_fails_its_run_alone(project: Project, serves: Command) -> None:
    """As after a module was renamed under the worker; an editable install would find a missing one in the checkout."""
    source = project.root / "flows" / "run.py"
    content = source.read_text()
    source.write_text("import flows.gone\n")
    try:
        broken = project.workspace(control.trigger({"train": {"seed": 60}}).run_id)
        wait_for(lambda: record(broken)["state"] == "failed", LEVEL_S)
    finally:
        source.write_text(content)
    said = control.run(broken.name).message or ""
    assert said.startswith("Prefect ended it as failed before it began: ")
    assert "No module named 'flows.gone'" in said
    assert serves.runs(), serves.said()
    folder = training(project, 61)
    (folder / "go").touch()
    wait_for(lambda: state(folder.name) == "done")
