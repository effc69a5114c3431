"""MLflow down or hanging costs the record, never the run; what it missed is brought later, once."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from checkout import copy_project
from trained import trained, write_curves

from bench.hanging import hanging
from flows import models, runfile, sync, tracking
from flows.errors import ServiceDownError
from flows.patience import while_answering
from flows.project import Project
from flows.recorder import Recorder

RUN = "20261130-120000-abcdef"
END_S = 10.0  # the longest a process may take after its last step


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return Project(root=tmp_path, state=tmp_path / "state")


def test_a_server_that_never_answers_holds_nothing_up(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    record = trained(project, RUN)
    with hanging() as address:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        said: list[str] = []
        recorder = Recorder(project, project.workspace(RUN), record, said.append)
        began = time.monotonic()
        recorder.start()
        recorder.finish("FINISHED", {}, [])
        assert time.monotonic() - began < END_S
        assert recorder.offline
        assert len(said) == 1
        with pytest.raises(ServiceDownError, match="MLflow does not answer"):
            models.promote(1, "why")
        assert time.monotonic() - began < END_S + 4


def test_a_call_that_hangs_is_left_when_the_server_is_gone() -> None:
    with hanging() as address:
        began = time.monotonic()
        with pytest.raises(ConnectionError, match="stopped answering"):
            while_answering(address, lambda: time.sleep(60))
        assert time.monotonic() - began < END_S


class Server:
    """A real MLflow server on a file, which can be paused and goes on."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        store = f"sqlite:///{folder / 'mlflow.db'}"
        words = f"-m mlflow server --host 127.0.0.1 --port {self.port} --workers 1 --backend-store-uri {store}"
        environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        self.process = subprocess.Popen(
            [sys.executable, *words.split()], env=environment, start_new_session=True, cwd=folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def wait(self) -> None:
        deadline = time.monotonic() + 120
        while not tracking.answers(self.address):
            assert time.monotonic() < deadline, "MLflow did not come up"
            time.sleep(0.3)

    def send(self, sign: int) -> None:
        os.killpg(self.process.pid, sign)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("mlflow"))
    try:
        started.wait()
        yield started
    finally:
        started.send(signal.SIGCONT)
        started.send(signal.SIGKILL)
        started.process.wait()


@pytest.mark.slow
def test_a_pause_in_the_middle_loses_no_point_and_doubles_none(
    project: Project, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.address)
    record, said = trained(project, RUN, steps=5), []
    recorder = Recorder(project, project.workspace(RUN), record, said.append)
    recorder.start()
    until(lambda: recorder.mlflow_run_id is not None)
    server.send(signal.SIGSTOP)
    rewrite(project, 40)
    time.sleep(3)
    began = time.monotonic()
    recorder.finish("FINISHED", {"test/accuracy": 0.5}, [])
    assert time.monotonic() - began < END_S
    assert recorder.offline
    server.send(signal.SIGCONT)
    recorder._thread.join(60)  # its last call comes through now, after its run has given it up
    runfile.update(project.workspace(RUN), state="done", result={"registered": None, "recorded": False})
    done = sync.sync(project, print)
    assert done.versions == (1,)
    client = tracking.client(project)
    run = tracking.find_run(client, RUN)
    assert run is not None
    history = client.get_metric_history(run.info.run_id, "train/loss")
    assert sorted(point.step for point in history) == list(range(1, 41))
    assert run.info.status == "FINISHED"
    assert sync.sync(project, print).runs == ()


def rewrite(project: Project, steps: int) -> None:
    for path in (project.workspace(RUN) / "artifacts" / "curves").iterdir():
        path.unlink()
    write_curves(project.workspace(RUN), steps)


def until(met: Any, limit_s: float = 60.0) -> None:
    deadline = time.monotonic() + limit_s
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def pivotline(project: Project, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "PREFECT_"))}
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", *words], cwd=project.root, capture_output=True, text=True, check=False,
        env=kept | {"PIVOTLINE_STATE": str(project.state)} | more,
    )  # fmt: skip


@pytest.mark.slow
def test_a_run_beside_a_hanging_server_is_trained_and_recorded_later(tmp_path: Path) -> None:
    """Exit code 4, within seconds of its last step; the next sync registers it once, and then all promises hold."""
    project = copy_project(tmp_path / "project")
    with hanging() as address:
        done = pivotline(project, "run", "--json", MLFLOW_TRACKING_URI=address)
        left = time.time()
    assert done.returncode == 4, done.stderr
    assert "trained, not recorded" in done.stderr
    result = json.loads(done.stdout)
    assert (result["recorded"], result["registered"]) == (False, None)
    record = runfile.read(project.workspace(result["run_id"])) or {}
    assert (record["state"], record["stages"]["register"]["state"]) == ("done", "waiting")
    stage = record["stages"]["evaluate"]
    evaluated = datetime.fromisoformat(stage["started_at"]).timestamp() + stage["elapsed_s"]
    assert left - evaluated < 3 * END_S  # the interpreter's own end takes its time on a busy machine
    synced = json.loads(pivotline(project, "sync", "--json").stdout)
    assert (synced["runs"], synced["versions"]) == ([result["run_id"]], [1])
    assert json.loads(pivotline(project, "sync", "--json").stdout)["runs"] == []
    healthy = pivotline(project, "doctor", "--json")
    assert healthy.returncode == 0, healthy.stdout
    listed = pivotline(project, "registry", "list")
    assert re.search(r"1\s+candidate, champion\s+transformer lite", listed.stdout)
