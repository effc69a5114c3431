"""A cancel ends every process of a run, also those that ignore signals, and proves it; and what dies is told so."""

import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from scripted import Command, arrived, living, make, pivotline, record, state_json, wait_for

from flows import tracking
from flows.checks import runs
from flows.project import Project

pytestmark = pytest.mark.slow
GONE_S = 15.0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make(tmp_path_factory.mktemp("cancel"))


POINTS = [
    ("preprocess:polite", "preprocess.seq_len=21", "preprocess stopped "),
    ("train:polite", "train.seed=21", "training stopped "),
    ("train:stubborn", "train.seed=22", "training did not end within 6 s: killed "),
    ("evaluate:polite", "train.seed=25", "evaluate stopped "),
    ("register:hangs", "train.seed=23", ""),
]


@pytest.mark.parametrize(("trial", "setting", "line"), POINTS, ids=[point[0] for point in POINTS])
def test_a_cancel_at(project: Project, trial: str, setting: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    process = Command(project, "run", "--set", setting, TRIAL=trial)
    workspace = arrived(project, process)
    time.sleep(0.5)  # a stubborn stage starts a stubborn child
    assert living(workspace) or trial.startswith("register")
    code, said = pivotline(project, "cancel", workspace.name)
    assert code == 0, said
    asked = time.monotonic()
    wait_for(lambda: not living(workspace) and not process.runs(), GONE_S)
    assert time.monotonic() - asked < GONE_S
    wait_for(lambda: any("MLflow" in text for text in record(workspace)["proof"]))
    assert process.wait() == 143, process.said()
    found = record(workspace)
    assert found["state"] == "cancelled"
    proof = found["proof"]
    assert proof[0].startswith("asked ")
    assert not line or proof[1].startswith(line), proof
    assert any(text.endswith((" processes ended", "1 process ended")) for text in proof)
    assert any(text.startswith("memory is back: ") for text in proof)
    assert proof[-1] == "MLflow run killed"
    run = tracking.find_run(tracking.client(project), workspace.name)
    assert run is not None
    assert run.info.status == "KILLED"
    assert state_json(project, workspace.name)["proof"] == proof
    code, said = pivotline(project, "cancel", workspace.name)
    assert (code, said) == (2, f"error: run {workspace.name} is cancelled: there is nothing to cancel\n")


APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
FIRST = ("sh", "-c", '"$@"; code=$?; sleep 20; exit $code', "sh")  # a first process that outlives the run
AFAR = [
    (APART, "polite", ["no process holds the run any more"]),
    ((*APART, *FIRST), "stubborn", ["training did not end within 6 s: killed ", "memory is back: "]),
]


@pytest.mark.skipif(subprocess.run([*APART, "true"], check=False).returncode != 0, reason="no process table of its own")
@pytest.mark.parametrize(("before", "how", "lines"), AFAR, ids=["with its container", "in its container"])
def test_a_cancel_from_another_container(project: Project, before: tuple, how: str, lines: list[str]) -> None:
    """The run has a process table of its own, as in a container: whoever asks cannot see its processes."""
    process = Command(project, "run", "--set", f"train.seed={50 + len(how)}", before=before, TRIAL=f"train:{how}")
    workspace = arrived(project, process)
    time.sleep(0.5)
    code, said = pivotline(project, "cancel", workspace.name)
    assert code == 0, said
    assert "asked its own process, on " in said
    wait_for(lambda: not living(workspace), GONE_S)
    wait_for(lambda: any("MLflow" in text for text in record(workspace)["proof"]))
    found = record(workspace)
    assert found["state"] == "cancelled"
    for line in lines:
        assert any(text.startswith(line) for text in found["proof"]), found["proof"]
    assert "still alive" not in str(found["proof"])
    process.wait(40)


def test_a_cancel_without_a_ledger_and_after_the_death_of_its_canceller(project: Project) -> None:
    """Asked a second time it comes to its end."""
    process = Command(project, "run", "--set", "train.seed=26", TRIAL="train:stubborn")
    workspace = arrived(project, process)
    for path in project.state.glob("ledger.db*"):
        path.unlink()
    code, said = pivotline(project, "cancel", workspace.name)
    assert (code, said) == (0, f"run {workspace.name}: told its processes to save and end\n")
    killed = canceller(workspace.name)
    killed.kill()
    killed.wait(5)
    assert living(workspace)
    assert record(workspace)["state"] == "running"
    code, said = pivotline(project, "cancel", workspace.name)
    assert (code, said) == (0, f"run {workspace.name}: told its processes to save and end\n")
    wait_for(lambda: not living(workspace) and not process.runs(), GONE_S)
    wait_for(lambda: any("MLflow" in text for text in record(workspace)["proof"]))
    assert record(workspace)["state"] == "cancelled"


def test_the_proof_that_a_killed_canceller_left_open_is_brought_to_its_end(project: Project) -> None:
    """The run ended meanwhile: doctor says that its proof has no end, and a further cancel finishes it."""
    process = Command(project, "run", "--set", "train.seed=27", TRIAL="train:stubborn")
    workspace = arrived(project, process)
    assert pivotline(project, "cancel", workspace.name)[0] == 0
    killed = canceller(workspace.name)
    killed.kill()
    killed.wait(5)
    process.process.kill()
    process.wait(5)
    assert state_json(project, workspace.name)["state"] == "cancelled"
    assert [line.split()[0] for line in record(workspace)["proof"]] == ["asked"]
    assert "ended before the proof did" in str(list(runs.runs(project)))
    code, said = pivotline(project, "cancel", workspace.name)
    assert code == 0, said
    assert "the proof of that is brought to its end" in said
    wait_for(lambda: record(workspace)["proved"])
    assert record(workspace)["proof"][1:] == [
        "no process holds the run any more",
        "no checkpoint was written yet",
        "MLflow run killed",
    ]
    assert pivotline(project, "cancel", workspace.name)[0] == 2
    assert list(runs.life(project, record(workspace))) == []


def test_a_copy_of_the_state_folder_neither_claims_a_run_that_lives_nor_ends_its_processes(project: Project) -> None:
    process = Command(project, "run", "--set", "train.seed=28", TRIAL="train:gate")
    workspace = arrived(project, process)
    copy = replace(project, state=project.root / "copy")
    shutil.copytree(project.state, copy.state, symlinks=True)
    assert "is a copy" in state_json(copy, workspace.name)["message"]
    code, said = pivotline(copy, "cancel", workspace.name)
    assert (code, said) == (2, f"error: run {workspace.name} is crashed: there is nothing to cancel\n")
    assert record(copy.workspace(workspace.name))["state"] == "crashed"
    assert state_json(project, workspace.name)["state"] == "running"
    (workspace / "go").touch()
    process.wait()
    assert record(workspace)["state"] == "done", process.said()


def canceller(run_id: str) -> psutil.Process:
    """The process that carries out the cancel of a run."""
    words = ["-m", "flows.cancellation", run_id]
    return next(process for process in psutil.process_iter(["cmdline"]) if (process.info["cmdline"] or [])[1:] == words)


def test_a_cancelled_run_is_resumed_to_its_end(project: Project) -> None:
    """No second attempt while one lives; what was done is not done again."""
    process = Command(project, "run", "--set", "train.seed=24", TRIAL="train:polite")
    workspace = arrived(project, process)
    code, said = pivotline(project, "resume", workspace.name)
    assert code == 2
    assert f"run {workspace.name} is running: there is nothing to resume; process {process.pid} on " in said
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(20) == 143
    assert (record(workspace)["state"], record(workspace)["message"]) == ("cancelled", "ended by SIGTERM")
    code, said = pivotline(project, "resume", workspace.name)
    assert code == 5, said  # the scripted stages leave no whole result
    assert record(workspace)["attempt"] == 2, said
    assert [record(workspace)["stages"][name]["state"] for name in ("preprocess", "train")] == ["cached", "done"]


@pytest.mark.parametrize(("before", "seed"), [("env --default-signal=HUP", 36), ("nohup", 37)])
def test_a_run_whose_terminal_is_closed(project: Project, before: str, seed: int) -> None:
    """It saves, and its end is written down; unless it was told to outlive its terminal."""
    outlives = before == "nohup"
    process = Command(project, "run", "--set", f"train.seed={seed}", before=before.split(), TRIAL="train:polite")
    workspace = arrived(project, process)
    os.kill(process.pid, signal.SIGHUP)
    if outlives:
        time.sleep(1)
        assert process.runs()
        os.kill(process.pid, signal.SIGTERM)
    assert process.wait(20) == (143 if outlives else 129)
    assert record(workspace)["message"] == ("ended by SIGTERM" if outlives else "ended by SIGHUP")
    assert living(workspace) == []


@pytest.mark.parametrize("victim", ["run", "dvc", "stage"])
def test_a_kill_of(project: Project, victim: str) -> None:
    """Whichever process dies, the others end, the run is told to have crashed, and it can be resumed."""
    process = Command(project, "run", "--set", f"train.seed={31 + len(victim)}", TRIAL="train:polite")
    workspace = arrived(project, process)
    killed = process.pid if victim == "run" else pick(workspace, victim)
    os.kill(killed, signal.SIGKILL)
    at = time.monotonic()
    wait_for(lambda: not living(workspace), 10)
    gone_s = time.monotonic() - at
    process.wait(20)
    found = state_json(project, workspace.name)
    assert found["state"] == "crashed", found
    words = "ended without a word in train" if victim == "run" else "train was killed"
    assert words in found["message"]
    assert "resume" in found["message"]
    assert gone_s < 8  # about 2 s on an idle machine


def pick(workspace: Path, victim: str) -> int:
    """The process of a run's stage: DVC, which leads the group, or the stage itself."""
    pids = living(workspace)
    leader = next(pid for pid in pids if os.getsid(pid) == pid)
    return leader if victim == "dvc" else next(pid for pid in pids if pid != leader)
