"""The queue under trial, with a real Prefect server and worker: one run an order, one at a time, and none lost."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from prefect.states import Crashed, Pending
from scripted import Command, living, make, record, wait_for
from serving import NAMES, serving, state, worker

from flows import control, queue, reconciliation, runfile, workspace
from flows.keeper import Keeper
from flows.ledger import Ledger
from flows.project import Project
from flows.silence import Silence

pytestmark = pytest.mark.slow
DOORS = 20


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project of scripted stages with a Prefect server, which this process knows too."""
    project = make(tmp_path_factory.mktemp("queue"))
    with serving(project):
        yield project


def test_one_run_an_order_none_lost_when_the_worker_is_killed(project: Project) -> None:
    first = worker(project, "train:polite")
    key = control.new_key()
    with ThreadPoolExecutor(DOORS) as doors:
        taken = list(doors.map(lambda _: control.trigger({}, key=key), range(DOORS)))
    assert {entry.run_id for entry in taken} == {key}
    assert len({entry.flow_run_id for entry in taken}) == 1
    assert len(list(project.runs.glob("*-*-*"))) == 1
    folder = project.workspace(key)
    wait_for(lambda: (folder / "arrived").exists(), 120)
    later = control.trigger({"train": {"seed": 2}})
    assert control.run(later.run_id).reason == f"waits for run {key}"
    with pytest.raises(ValueError, match=f"run {key} is running: there is nothing to resume"):
        control.resume(key)

    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    wait_for(lambda: not living(folder), 30)
    wait_for(lambda: state(key) == "crashed", 60)
    assert not next(entry for entry in control.services() if entry.name == "Worker").up
    unknown = control.new_key()
    workspace.create(project, unknown, {"train": {"seed": 3}}, door="queue")  # frozen, and its order died

    second = worker(project)
    try:
        wait_for(lambda: state(unknown) == state(later.run_id) == "done", 240)
        assert record(folder)["state"] == "crashed"
        assert "resume" in record(folder)["message"]
        assert control.resume(key).run_id == key
        wait_for(lambda: state(key) == "done", 120)
        assert control.run(key).attempt == 2
        began = [record(project.workspace(name))["started_at"] for name in (later.run_id, unknown, key)]
        ended = [record(project.workspace(name))["ended_at"] for name in (later.run_id, unknown, key)]
        spans = sorted(zip(began, ended, strict=True))
        assert all(before[1] <= after[0] for before, after in pairwise(spans))  # one at a time
        wait_for(lambda: not [entry for entry in queue.unfinished() if entry.name == key], 90)
    finally:
        os.kill(second.pid, signal.SIGTERM)
        second.wait(30)


def due(found: dict[str, Any]) -> datetime:
    """When Prefect took an order."""
    flow_run = queue.find(found["flow_run_id"])
    assert flow_run is not None
    assert flow_run.expected_start_time is not None
    return flow_run.expected_start_time


def test_two_different_orders_at_once_run_one_after_the_other(project: Project) -> None:
    """Two processes ask at the same moment: a folder each, and the places tell the order in which they run."""
    serves = worker(project, "train:gate")
    told = {name: os.environ[name] for name in NAMES}
    try:
        doors = [Command(project, "trigger", "--set", f"train.seed={seed}", "--json", **told) for seed in (71, 72)]
        assert [door.wait() for door in doors] == [0, 0], [door.said() for door in doors]
        asked = {json.loads(door.said().splitlines()[-1])["run_id"] for door in doors}
        wait_for(lambda: any((project.workspace(name) / "arrived").exists() for name in asked))
        views = sorted((control.run(name) for name in asked), key=lambda view: view.state, reverse=True)
        first, second = views
        assert (first.state, second.state) == ("running", "queued")
        assert (second.place, second.reason) == (1, f"waits for run {first.run_id}")
        assert {view.params["train"]["seed"] for view in views} == {71, 72}
        folders = [project.workspace(view.run_id) for view in views]
        assert not (folders[1] / "arrived").exists()
        for folder in folders:
            (folder / "go").touch()
        wait_for(lambda: all(state(name) == "done" for name in asked))
        one, two = (record(folder) for folder in folders)
        assert one["ended_at"] <= two["started_at"]
        assert due(one) <= due(two)
    finally:
        os.kill(serves.pid, signal.SIGTERM)
        serves.wait(30)


def test_a_run_that_a_dead_worker_took_goes_back_into_the_queue(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciliation, "PENDING_S", 0.0)
    accepted = control.trigger({"train": {"seed": 4}})
    queue.set_state(accepted.flow_run_id, Pending())
    said: list[str] = []
    seen = Silence()
    for _ in range(2):
        reconciliation.reconcile(project, said.append, seen)
    found = queue.find(accepted.flow_run_id)
    assert found is not None
    assert found.state is not None
    assert found.state.type.value == "SCHEDULED"
    assert said == [f"run {accepted.run_id} is back in the queue: its worker ended before it began"]
    assert control.cancel(accepted.run_id) == "taken out of the queue"
    found = queue.find(accepted.flow_run_id)
    assert found is not None
    assert found.state is not None
    assert found.state.type.value == "CANCELLED"


def test_orders_that_prefect_does_not_have_are_queued_in_the_order_of_asking(project: Project) -> None:
    """As after its database was lost."""
    keys = [f"20261130-12000{number}-abcdef" for number in range(3)]
    for seed, key in enumerate(keys, 80):
        workspace.create(project, key, {"train": {"seed": seed}}, door="queue")
    reconciliation.reconcile(project, print, Silence())
    assert [control.run(key).place for key in keys] == [1, 2, 3]
    taken = [due(record(project.workspace(key))) for key in keys]
    assert taken == sorted(taken)
    for key in keys:
        control.cancel(key)


def test_a_queue_longer_than_a_page_of_prefect_s_list_is_known_whole(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of its runs has a damaged record, which keeps nothing from the others."""
    monkeypatch.setattr(queue, "LISTED", 2)
    keys = [f"20261130-13000{number}-abcdef" for number in range(7)]
    for seed, key in enumerate(keys, 100):
        control.trigger({"train": {"seed": seed}}, key=key)
    runs = [control.run(key) for key in keys]
    assert {entry.name for entry in queue.unfinished()} >= set(keys)
    assert [view.place for view in runs] == list(range(1, 8))
    queue.set_state(runs[6].flow_run_id, Pending())
    (project.workspace(keys[0]) / "run.json").write_text("{")
    monkeypatch.setattr(reconciliation, "PENDING_S", 0.0)
    said: list[str] = []
    seen = Silence()
    for _ in range(2):
        reconciliation.reconcile(project, said.append, seen)
    assert said == [f"run {keys[6]} is back in the queue: its worker ended before it began"]
    assert {entry.name for entry in queue.unfinished()} >= set(keys)
    for key in keys[1:]:
        control.cancel(key)
    shutil.rmtree(project.workspace(keys[0]))


def test_a_done_run_that_prefect_takes_for_crashed_is_set_right(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after the end of an outage that the run's own last word fell into, and its worker's not."""
    monkeypatch.setattr(reconciliation, "CLOSING_S", -1.0)
    accepted = control.trigger({"train": {"seed": 90}})
    folder = project.workspace(accepted.run_id)
    with Keeper(project, folder, 1, print, SimpleNamespace(mlflow_run_id=None), accepted.flow_run_id):
        runfile.update(folder, state="done")
    queue.set_state(accepted.flow_run_id, Crashed(message="process exited with status code 1"))
    for expected in (["prefect"], []):
        reconciliation.reconcile(project, print, Silence())
        found = queue.find(accepted.flow_run_id)
        assert found is not None
        assert found.state is not None
        assert found.state.type.value == "COMPLETED"
        assert untold(project, accepted.run_id) == expected


def untold(project: Project, run_id: str) -> list[str]:
    """The services that have not learnt how a run ended."""
    return [name for entry in Ledger(project).untold() if entry.run_id == run_id for name in entry.untold]
