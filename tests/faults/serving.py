"""A real Prefect server for trials of the queue, which can be ended and started again, and a worker that serves it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from scripted import Command, environment, wait_for

from flows import control, queue
from flows.errors import ServiceDownError
from flows.project import Project

NAMES = ("PREFECT_API_URL", "PREFECT_HOME", "PIVOTLINE_PROJECT")


class PrefectServer:
    """The server of one project, at the same address however often it is started."""

    def __init__(self, project: Project) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.project = project
        self.told = {"PREFECT_API_URL": f"http://127.0.0.1:{self.port}/api"}
        self.told |= {"PREFECT_HOME": str(project.state / "prefect"), "PIVOTLINE_PROJECT": str(project.root)}
        self.told |= {"PIVOTLINE_STATE": str(project.state), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
        self.told |= {"DO_NOT_TRACK": "1"}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it answers."""
        words = f"-m prefect server start --host 127.0.0.1 --port {self.port}"
        self.project.make_state()
        with (self.project.state / "server.txt").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, *words.split()], env=environment(self.project, **self.told), stdout=log, stderr=log
            )
        wait_for(lambda: control.services()[0].up)

    def end(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(30)
            self.process = None


@contextmanager
def serving(project: Project) -> Iterator[PrefectServer]:
    """A server that runs, which this process knows too."""
    server = PrefectServer(project)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        for name, value in server.told.items():
            patch.setenv(name, value)
        try:
            server.start()
            yield server
        finally:
            server.end()


def worker(project: Project, trial: str = "") -> Command:
    """A worker that serves the queue of the server that this process knows."""
    started = Command(project, "serve", TRIAL=trial, **{name: os.environ[name] for name in NAMES})
    wait_for(lambda: any(entry.name == "Worker" and entry.up for entry in control.services()))
    wait_for(served)
    return started


def served() -> bool:
    try:
        queue.check()
    except ServiceDownError:
        return False
    return True


def state(run_id: str) -> str:
    return control.run(run_id).state
