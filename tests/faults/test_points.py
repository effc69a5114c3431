"""A run is disturbed where that is hardest: told to end before its first update, in a save, while evaluating and while
registering, or left without room for Prefect's database.

It ends in time with all its processes, what it saved is whole, and it comes to the bits of an undisturbed run.
"""

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gated import make, open_all, shut
from scripted import Command, arrived, living, pivotline, record, wait_for
from serving import PrefectServer, serving, worker
from stage import history

from flows import control, queue, registry, runfile, tracking
from flows.errors import ServiceDownError
from flows.life import is_held
from flows.project import Project
from model.checkpoint import list_complete, list_faults

pytestmark = pytest.mark.slow
GONE_S = 15.0  # the longest that a cancel may take
GRACE_S = 10.0  # what `docker stop` gives
LEVEL_S = 120.0  # two rounds of the patrol on a busy machine
SLOW_S = 1.0  # how long what was begun still takes


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make(tmp_path_factory.mktemp("points"))


@pytest.fixture(scope="module")
def whole(project: Project) -> Path:
    """The workspace of a run that nobody disturbed."""
    code, said = pivotline(project, "run")
    assert code == 0, said
    return max(project.runs.glob("*-*-*"))


def newest(workspace: Path) -> int:
    """The update of the newest checkpoint; every one that is listed is whole."""
    assert list_faults(workspace / "checkpoints") == []
    return list_complete(workspace / "checkpoints")[-1].step


def goes_on(project: Project, workspace: Path, whole: Path) -> None:
    open_all(project)
    code, said = pivotline(project, "resume", "--here", workspace.name)
    assert code == 0, said
    assert history(workspace) == history(whole)


@pytest.mark.parametrize(("point", "saved"), [("warm-up", 1), ("save", 4), ("evaluate", 8)])
def test_a_signal_in(project: Project, whole: Path, point: str, saved: int) -> None:
    """SIGTERM, as `docker stop` sends it: what was begun takes a moment more."""
    shut(project, point)
    process = Command(project, "run")
    workspace = arrived(project, process)
    os.kill(process.pid, signal.SIGTERM)
    time.sleep(SLOW_S)
    (workspace / "go").touch()
    assert process.wait(GRACE_S) == 143, process.said()
    assert record(workspace)["state"] == "cancelled"
    assert living(workspace) == []
    assert newest(workspace) == saved
    goes_on(project, workspace, whole)


def test_a_signal_to_the_training_alone_and_the_loss_of_its_lock_file(project: Project, whole: Path) -> None:
    """It crashed and has not failed; what DVC remembered of its stages is not needed for the same bits."""
    shut(project, "save")
    process = Command(project, "run")
    workspace = arrived(project, process)
    os.kill(next(pid for pid in living(workspace) if os.getsid(pid) != pid), signal.SIGTERM)
    (workspace / "go").touch()
    assert process.wait(GRACE_S) == 5, process.said()
    assert record(workspace)["state"] == "crashed"
    assert "train was told to end from outside (SIGTERM); resume goes on" in record(workspace)["message"]
    os.truncate(workspace / "dvc.lock", 0)
    goes_on(project, workspace, whole)


def test_a_cancel_in_a_save_that_never_ends(project: Project, whole: Path) -> None:
    """It is killed; the checkpoint before is whole, and half of one is swept away by the next attempt."""
    shut(project, "save")
    process = Command(project, "run")
    workspace = arrived(project, process)
    assert pivotline(project, "cancel", workspace.name)[0] == 0
    wait_for(lambda: not living(workspace) and not process.runs(), GONE_S)
    wait_for(lambda: record(workspace).get("proved"))
    assert "training did not end within 6 s: killed " in str(record(workspace)["proof"])
    assert "checkpoint 2 verified" in record(workspace)["proof"]
    assert newest(workspace) == 2
    goes_on(project, workspace, whole)
    assert not list((workspace / "checkpoints").glob(".*"))


@pytest.fixture(scope="module")
def server(project: Project) -> Iterator[PrefectServer]:
    with serving(project) as started:
        yield started


@pytest.fixture(scope="module")
def serves(project: Project, server: PrefectServer) -> Iterator[Command]:
    started = worker(project)
    yield started
    os.kill(started.pid, signal.SIGTERM)
    started.wait(60)


@pytest.mark.parametrize(("point", "saved"), [("save", 4), ("register", 8)])
def test_a_cancel_in(project: Project, whole: Path, serves: Command, point: str, saved: int) -> None:
    """Every process is gone, both servers say so, and the slot is free: the next attempt takes it."""
    shut(project, point)
    workspace = project.workspace(control.trigger({}).run_id)
    wait_for((workspace / "arrived").exists)
    assert control.cancel(workspace.name) == "told its processes to save and end"
    time.sleep(SLOW_S)
    (workspace / "go").touch() if point == "save" else None
    wait_for(lambda: not living(workspace) and not is_held(project, workspace.name), GONE_S)
    wait_for(lambda: record(workspace).get("proved"))
    assert record(workspace)["state"] == "cancelled"
    assert newest(workspace) == saved
    assert (prefect_says(workspace), mlflow_says(project, workspace)) == ("CANCELLED", "KILLED")
    open_all(project)
    control.resume(workspace.name)
    wait_for(lambda: record(workspace)["state"] in runfile.ENDED)
    assert record(workspace)["state"] == "done", record(workspace)["message"]
    assert history(workspace) == history(whole)
    versions = registry.views(tracking.client(project), "pivotline")
    assert [entry.run_id for entry in versions].count(workspace.name) == 1


def prefect_says(workspace: Path) -> str:
    found = queue.find(record(workspace)["flow_run_id"])
    assert found is not None
    assert found.state is not None
    return found.state.type.value


def mlflow_says(project: Project, workspace: Path) -> str:
    run = tracking.find_run(tracking.client(project), workspace.name)
    assert run is not None
    return str(run.info.status)


@contextmanager
def full(server: PrefectServer) -> Iterator[None]:
    """No file of the server can grow, as on a full disk."""
    assert server.process is not None
    most = resource.RLIM_INFINITY
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, most))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))


def test_no_room_for_the_database_of_prefect(
    project: Project, whole: Path, server: PrefectServer, serves: Command
) -> None:
    """The training comes to its bits; an order is refused in a sentence and yet not lost; Prefect is told later."""
    shut(project, "update-5")
    workspace, later = project.workspace(control.trigger({}).run_id), control.new_key()
    wait_for((workspace / "arrived").exists)
    with full(server):
        (workspace / "go").touch()
        with pytest.raises(
            ServiceDownError, match=f"may be full; its own log tells; run {later} is kept, and the work"
        ):
            control.trigger({"train": {"seed": 5}}, key=later)
        wait_for(lambda: record(workspace)["state"] in runfile.ENDED)
        assert record(workspace)["state"] == "done", record(workspace)["message"]
        assert history(workspace) == history(whole)
        assert prefect_says(workspace) == "RUNNING"
    wait_for(lambda: prefect_says(workspace) == "COMPLETED", LEVEL_S)
    wait_for((project.workspace(later) / "arrived").exists, LEVEL_S)
    control.cancel(later)
    wait_for(lambda: record(project.workspace(later)).get("proved"))
    assert serves.runs(), serves.said()
