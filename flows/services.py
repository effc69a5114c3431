"""The stack on one machine without containers: four servers on 127.0.0.1, started and ended together."""

import os
import signal
import socket
import subprocess
import textwrap
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from flows import database
from flows.addresses import alone
from flows.errors import ServiceDownError
from flows.project import Project
from flows.revival import Revival
from flows.servers import HOST, PREFECT, WORKER, Ports, Server, servers, stack, variables

START_S = 90.0  # the longest a server may take to answer
GRACE_S = 10.0


Running = tuple[Server, subprocess.Popen[bytes]]


def up(project: Project, ports: Ports, say: Callable[[str], None]) -> None:
    """Starts the stack, says where the page is and waits; ends everything on SIGINT or SIGTERM.

    A server that dies is started again, and a run goes on meanwhile; one that does not stay up ends the stack.

    Raises ServiceDownError naming the server that did not come up, ValueError for a taken port or state folder.
    """
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, interrupt)
    with alone(project, stack(ports)):
        stand(project, ports, say)


def stand(project: Project, ports: Ports, say: Callable[[str], None]) -> None:
    """Starts and looks after the servers of a state folder that is ours alone, and ends them."""
    first, worker = servers(project, ports)
    check_ports(first)
    (project.state / "logs").mkdir(parents=True, exist_ok=True)
    running: list[Running] = []
    try:
        database.open_record(project)
        say("starting MLflow, Prefect and the page")
        for server in first:
            running.append((server, start(project, ports, server)))
        for server, process in running:
            wait_healthy(project, server, process)
        say("starting the worker")
        running.append((worker, start(project, ports, worker)))
        wait_healthy(project, *running[-1])
        others = f"MLflow is on port {ports.mlflow}, Prefect on {ports.prefect}"
        say(f"Pivotline is up: http://{HOST}:{ports.app}  ({others}; Ctrl-C ends all)")
        watch(project, ports, running, say)
    except KeyboardInterrupt:
        say("ending the stack")
    finally:
        for _, process in reversed(running):
            end(process)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def check_ports(plan: list[Server]) -> None:
    for server in plan:
        with socket.socket() as probe:
            if server.port and probe.connect_ex((HOST, server.port)) == 0:
                taken = f"port {server.port} for {server.name} is taken{by_whom(server.port)}"
                raise ValueError(f"{taken}: end what listens there or choose another with --{server.name}-port")


def by_whom(port: int) -> str:
    """The process that listens and its command, as far as we may see it."""
    with suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,) and connection.pid:
                command = " ".join(psutil.Process(connection.pid).cmdline())
                return f" by process {connection.pid} ({textwrap.shorten(command, 100)})"
    return ""


def start(project: Project, ports: Ports, server: Server) -> subprocess.Popen[bytes]:
    """A server in a session of its own, so that Ctrl-C reaches it through us alone and in order."""
    with log_of(project, server).open("ab") as log:
        return subprocess.Popen(
            server.command,
            cwd=project.root,
            env=variables(project, ports, server),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def log_of(project: Project, server: Server) -> Path:
    return project.state / "logs" / f"{server.name}.log"


def wait_healthy(project: Project, server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while not answers(server.health):
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServiceDownError(f"{server.name} did not come up; {remedy(project, server)}")
        time.sleep(0.2)


def remedy(project: Project, server: Server) -> str:
    """What is known of why a server ended, or where that is said."""
    place = f"its output is in {log_of(project, server)}"
    told = database.damage(project) if server.name == PREFECT else ""
    return f"{told}; {place}" if told else place


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def watch(project: Project, ports: Ports, running: list[Running], say: Callable[[str], None]) -> None:
    """Looks after the servers; one that ends is started again. Raises ServiceDownError when one does so too often."""
    ends: dict[str, Revival] = defaultdict(Revival)
    while True:
        for place, (server, process) in enumerate(running):
            if process.poll() is not None:
                running[place] = (server, revived(project, ports, server, process, ends[server.name], say))
        time.sleep(0.5)


def revived(
    project: Project,
    ports: Ports,
    server: Server,
    process: subprocess.Popen[bytes],
    ends: Revival,
    say: Callable[[str], None],
) -> subprocess.Popen[bytes]:
    """The server's next process; what the last one left behind would keep its port.

    What a dead worker left behind ends by itself, and writes down why (flows.owner).
    """
    said = f"{server.name} ended with status {process.returncode}; {remedy(project, server)}"
    pause_s = ends.pause_s()
    if pause_s is None:
        raise ServiceDownError(said)
    kept = "what it ran can be resumed" if server.name == WORKER else "runs go on"
    say(f"{said}; it is started again in {pause_s:.0f} s, and {kept}")
    if server.name != WORKER:
        end(process)
    time.sleep(pause_s)
    return start(project, ports, server)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a server and its children: SIGTERM to the session, SIGKILL after a grace."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
