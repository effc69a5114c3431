"""Maker of the whole stack for a browser to look at: real servers of a project of its own, ended by one SIGINT."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.request import urlopen

import psutil
from test_doors import environment, free_port

from flows.project import Project


@dataclass(frozen=True)
class Stack:
    """A running stack: its project and the port of each server."""

    project: Project
    ports: dict[str, int]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.ports['app']}/"


@contextmanager
def running(project: Project) -> Iterator[Stack]:
    """The stack on free ports; nothing of it is left afterwards."""
    ports = {name: free_port() for name in ("app", "mlflow", "prefect")}
    options = [word for name, port in ports.items() for word in (f"--{name}-port", str(port))]
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "up", *options],
        cwd=project.root,
        env=environment(project),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    with process.stdout as lines:
        try:
            assert any(line.startswith("Pivotline is up") for line in lines), "the stack did not come up"
            yield Stack(project, ports)
        finally:
            below = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
    assert code == 0
    _, alive = psutil.wait_procs(below, timeout=5)
    assert not alive


@contextmanager
def page_without(stack: Stack, missing: str) -> Iterator[str]:
    """Another page on the same runs that is told of a server where none listens."""
    ports = stack.ports | {"app": free_port(), missing: free_port()}
    told = {
        "PIVOTLINE_PROJECT": str(stack.project.root),
        "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{ports['mlflow']}",
        "PREFECT_API_URL": f"http://127.0.0.1:{ports['prefect']}/api",
    }
    words = f"-m app --server.address 127.0.0.1 --server.port {ports['app']}".split()
    with subprocess.Popen(
        [sys.executable, *words],
        cwd=stack.project.root,
        env=environment(stack.project) | told,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            wait_for(f"http://127.0.0.1:{ports['app']}/_stcore/health")
            yield f"http://127.0.0.1:{ports['app']}/"
        finally:
            process.terminate()


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(OSError), urlopen(url, timeout=2):
            return
        time.sleep(0.3)
    raise AssertionError(f"{url} did not answer")
