"""What the bench of the page is done on: the embedded stack, and a Streamlit page with nothing in it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psutil

from flows.health import ask

ROOT = Path(__file__).parents[1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def stack(state: Path) -> Iterator[dict[str, int]]:
    """The embedded stack on a state folder; its ports by server."""
    ports = {name: free_port() for name in ("app", "mlflow", "prefect")}
    words = [word for name, port in ports.items() for word in (f"--{name}-port", str(port))]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW", "PREFECT"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "up", *words],
        cwd=ROOT,
        env=known | {"PIVOTLINE_STATE": str(state)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert any(line.startswith("Pivotline is up") for line in process.stdout), "the stack did not come up"
        yield ports
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def bare() -> AbstractContextManager[str]:
    """The address of a Streamlit page with a title and nothing else."""
    return serving('import streamlit\n\nstreamlit.title("bare")\n')


@contextmanager
def serving(script: str) -> Iterator[str]:
    """The address of a Streamlit page that a script makes; it answers."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.py"
        page.write_text(script, encoding="utf-8")
        words = f"--server.address 127.0.0.1 --server.headless true --server.port {port}".split()
        process = subprocess.Popen([sys.executable, "-m", "streamlit", "run", page, *words], stdout=subprocess.DEVNULL)
        try:
            while not ask("page", "", f"http://127.0.0.1:{port}/_stcore/health").up:
                assert process.poll() is None, "the page did not come up"
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            process.wait(60)


def server_of(port: int) -> psutil.Process:
    return next(
        process
        for process in psutil.process_iter(["cmdline"])
        if str(port) in (process.info["cmdline"] or []) and {"app", "streamlit"} & set(process.info["cmdline"])
    )
