"""Who asks for the end of a run is told the truth, and may ask again until somebody carries it out."""

import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock

from flows import cancellation, holder, runfile
from flows.errors import ResourceError
from flows.keeper import Keeper, holding
from flows.ledger import Attempt
from flows.life import cancel_lock, run_lock
from flows.params import Params, as_dict
from flows.patrol import Patrol
from flows.process import Process
from flows.project import Project
from flows.runview import collect

RUN = "20261130-120000-abcdef"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """With one run, which runs; the ledger knows nothing of it."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    project = Project(root=tmp_path, state=tmp_path / "state")
    project.workspace(RUN).mkdir(parents=True)
    plain = {"run_id": RUN, "state": "running", "created_at": runfile.now(), "dataset_version": ""}
    runfile.write(project.workspace(RUN), plain | {"params": as_dict(Params()), "stages": {}})
    project.make_state()
    return project


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs whose cancel was started, without a process that carries it out."""
    found: list[str] = []
    monkeypatch.setattr(cancellation, "start", lambda project, run_id: found.append(run_id))
    return found


def sleeper() -> tuple[subprocess.Popen[bytes], Process]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    found = Process.of(child.pid)
    assert found is not None
    return child, found


def noted(project: Project, process: Process, **more: Any) -> None:
    known = {"run_id": RUN, "attempt": 1, "stage": "train", "group": None, "beat_at": 1.0}
    holder.note(project, Attempt(process=process, **known | more))


def test_a_run_that_the_ledger_lost_is_ended_all_the_same(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancellation, "LEAVE_S", 0.1)
    (run, process), (stage, group) = sleeper(), sleeper()
    noted(project, process, group=group)
    runfile.update(project.workspace(RUN), cancel_asked_at=runfile.now())
    cancellation.carry_out(project, RUN)
    assert (run.wait(5), stage.wait(5)) == (-9, -15)
    proof = (runfile.read(project.workspace(RUN)) or {})["proof"]
    assert proof[0].startswith("training stopped ")
    assert "2 processes ended" in proof


def test_an_end_is_written_down_though_the_lock_is_let_go_a_moment_after_it(project: Project) -> None:
    """As by a process of many threads that is killed: the first has ended when the last still holds the files."""
    run, process = sleeper()
    noted(project, process)
    runfile.update(project.workspace(RUN), cancel_asked_at=runfile.now(), proved=False)
    lock = FileLock(run_lock(project, RUN).lock_file, thread_local=False)
    lock.acquire()
    threading.Timer(1.0, lock.release).start()
    cancellation.carry_out(project, RUN)
    record = runfile.read(project.workspace(RUN)) or {}
    assert (run.wait(5), record["state"], record["proved"]) == (-15, "cancelled", True)


def test_a_second_cancel_starts_again_what_came_to_no_end(project: Project, starts: list[str]) -> None:
    noted(project, Process.this())
    with holding(project, RUN):
        assert cancellation.ask(project, RUN) == "told its processes to save and end"
        asked = (runfile.read(project.workspace(RUN)) or {})["cancel_asked_at"]
        with cancel_lock(project, RUN):
            assert cancellation.ask(project, RUN) == "its end was asked for already, and is being carried out"
        assert starts == [RUN]
        assert cancellation.ask(project, RUN) == "told its processes to save and end"
    assert starts == [RUN, RUN]
    record = runfile.read(project.workspace(RUN)) or {}
    assert record["cancel_asked_at"] == asked
    (view,) = collect(project, lambda names: {}, 1)
    assert view.cancel_asked_at == asked
    assert [line.rpartition(" ")[0] for line in record["proof"]] == ["asked", "asked again"]


@pytest.mark.parametrize(("proved", "lines"), [(False, 4), (True, 1), (None, 1)], ids=["open", "closed", "of before"])
def test_a_worker_closes_the_proof_of_a_run_whose_canceller_was_killed(
    project: Project, proved: bool | None, lines: int
) -> None:
    noted(project, replace(Process.this(), started="another"))
    asked = {"cancel_asked_at": runfile.now(), "proof": ["asked 12:00:00"], "proved": proved}
    runfile.update(project.workspace(RUN), state="cancelled", **asked)
    patrol = Patrol(project, print)
    patrol.proofs()
    patrol.proofs()
    assert len((runfile.read(project.workspace(RUN)) or {})["proof"]) == lines


def test_a_run_that_is_ended_from_another_container_starts_its_canceller_until_it_lives(
    project: Project, starts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.keeper.BEAT_S", 0.1)
    monkeypatch.setattr("flows.keeper.TICK_S", 0.05)
    runfile.update(project.workspace(RUN), asked_elsewhere=True)
    with Keeper(project, project.workspace(RUN), 1, print, SimpleNamespace(mlflow_run_id=None)):
        deadline = time.monotonic() + 20
        while len(starts) < 2:
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.02)
        with cancel_lock(project, RUN):
            time.sleep(0.2)
            before = len(starts)
            time.sleep(0.5)
            assert len(starts) == before


def test_a_cancel_that_reached_nobody_says_so(project: Project, starts: list[str]) -> None:
    with holding(project, RUN), pytest.raises(ResourceError, match="could not be told to end: which process runs it"):
        cancellation.ask(project, RUN)
    assert starts == []
    assert (runfile.read(project.workspace(RUN)) or {})["cancel_asked_at"]  # the run itself looks at it between stages
