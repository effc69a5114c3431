"""What the stack on one machine consists of: which servers, by which command, told what."""

import sys
from dataclasses import dataclass

from flows import owner
from flows.addresses import Stack
from flows.project import Project
from flows.stages import environment

HOST = "127.0.0.1"
PREFECT, WORKER = "prefect", "worker"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ports:
    """Where the servers listen on 127.0.0.1."""

    app: int = 8501
    mlflow: int = 5000
    prefect: int = 4200


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """A child to start, the port it listens on and the address that answers once it is up."""

    name: str
    command: tuple[str, ...]
    health: str
    port: int | None = None


# A thread a viewer: each arena of glibc keeps what one of them once needed. All views drawn: 655 MiB instead of 735.
FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}


def servers(project: Project, ports: Ports) -> tuple[list[Server], Server]:
    """The three servers that start side by side, and the worker, which needs Prefect to be up."""
    mlflow, prefect, app = (f"http://{HOST}:{port}" for port in (ports.mlflow, ports.prefect, ports.app))
    store = ("--backend-store-uri", f"sqlite:///{project.state / 'mlflow.db'}")
    files = ("--artifacts-destination", str(project.state / "mlartifacts"))
    first = [
        Server(
            name="mlflow",
            command=module(f"mlflow server --host {HOST} --port {ports.mlflow} --workers 1", *store, *files),
            health=f"{mlflow}/health",
            port=ports.mlflow,
        ),
        Server(
            name=PREFECT,
            command=module(f"prefect server start --host {HOST} --port {ports.prefect}"),
            health=f"{prefect}/api/health",
            port=ports.prefect,
        ),
        Server(
            name="app",
            command=module(f"app --server.address {HOST} --server.port {ports.app}"),
            health=f"{app}/_stcore/health",
            port=ports.app,
        ),
    ]
    served = f"{prefect}/api/deployments/name/pivotline/local"
    return first, Server(name=WORKER, command=module("flows.cli serve"), health=served)


def module(words: str, *more: str) -> tuple[str, ...]:
    """The command that runs a module of this environment, and ends it when `pivotline up` is gone."""
    return (sys.executable, "-m", "flows.tether", *words.split(), *more)


def stack(ports: Ports) -> Stack:
    """The addresses that clients use."""
    app, mlflow, prefect = (f"http://{HOST}:{port}" for port in (ports.app, ports.mlflow, ports.prefect))
    return Stack.of_this(app, mlflow, f"{prefect}/api")


def variables(project: Project, ports: Ports, server: Server) -> dict[str, str]:
    """What every server and client of the embedded stack is told; nothing is sent home.

    The worker ends alone when its owner is gone, see `flows.tether`.
    """
    return environment(project) | {
        owner.VARIABLE: "" if server.name == WORKER else owner.name(),
        "PIVOTLINE_PROJECT": str(project.root),
        "MLFLOW_TRACKING_URI": f"http://{HOST}:{ports.mlflow}",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "PREFECT_HOME": str(project.state / "prefect"),
        "PREFECT_API_URL": f"http://{HOST}:{ports.prefect}/api",
        "PREFECT_UI_API_URL": f"http://{HOST}:{ports.prefect}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        **(FEW_ARENAS if server.name == "app" else {}),
    }
