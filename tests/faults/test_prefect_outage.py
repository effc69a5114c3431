"""Prefect is away while a run of its queue trains: the run goes on or is cancelled all the same, and Prefect learns."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted import Command, living, make, record, wait_for
from serving import PrefectServer, serving, state, worker

from flows import control, queue
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


def training(project: Project, seed: int) -> Path:
    """The workspace of a run of the queue whose training waits."""
    folder = project.workspace(control.trigger({"train": {"seed": seed}}).run_id)
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
