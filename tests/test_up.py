"""`pivotline up`: one stack a state folder, which tells where its servers are, and whose servers do not outlive it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from scripted import wait_for
from test_cli import pivotline, refused
from test_doors import free_port

from flows import addresses, services, tracking
from flows.checks import machine
from flows.errors import ServiceDownError
from flows.process import start_of
from flows.project import Project
from flows.servers import Ports, servers

ROOT = Path(__file__).parents[1]
PLACES = {"app": "http://127.0.0.1:9/", "mlflow": "http://127.0.0.1:9", "prefect": "http://127.0.0.1:9/api"}
HOLDS = """
import sys, time
from pathlib import Path
from flows.addresses import Stack, alone
from flows.project import Project
folder = Path(sys.argv[1])
with alone(Project(root=folder, state=folder / "state"), Stack.of_this(**{places})):
    print("holds", flush=True)
    time.sleep(60)
"""
STARTS = """
import sys, time
from pathlib import Path
from flows import services
from flows.project import Project
from flows.servers import Ports, Server, module
project = Project(root=Path.cwd(), state=Path.cwd() / "state")
for name in ("mlflow", "worker"):
    services.start(project, Ports(), Server(name=name, command=module("served", name), health=""))
time.sleep(60)
"""
SERVED = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid} {os.environ.get('PIVOTLINE_OWNER')}")
time.sleep(60)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ("PREFECT_API_URL", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state" / "logs").mkdir(parents=True)
    return Project(root=tmp_path, state=tmp_path / "state")


@contextmanager
def python(script: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", script, *words]
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{Path.cwd()}"}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def holder(project: Project) -> Iterator[subprocess.Popen[str]]:
    """A process that has the state folder for its stack."""
    with python(HOLDS.format(places=PLACES), str(project.root)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holds\n"
        yield process


def command(project: Project, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return pivotline(project.root, *words, PYTHONPATH=str(ROOT), **more)


def test_a_state_folder_has_one_stack(project: Project) -> None:
    """Whatever its ports: the second would write the same files."""
    with holder(project) as first:
        done = command(project, "up", "--app-port", "20801")
        refused(done, 2, str(project.state), f"process {first.pid} runs it since 2", "its page is http://127.0.0.1:9/")
        assert done.stdout == ""
        assert len(done.stderr.strip().splitlines()) == 1
    with addresses.alone(project, addresses.Stack.of_this(**PLACES)):  # what a killed one left is in nobody's way
        assert addresses.standing(project)
        copied = replace(project, state=project.root / "copy")
        shutil.copytree(project.state, copied.state)
        assert addresses.standing(copied) is None
    assert not (project.state / addresses.NAME).exists()


def test_a_command_finds_the_servers_of_the_stack_that_lives(project: Project) -> None:
    """Those that the environment names come first; a dead stack has none."""
    there = "http://127.0.0.1:9"
    with holder(project) as first:
        assert (addresses.prefect_url(), tracking.tracking_uri(project)) == (f"{there}/api", there)
        found = json.loads(command(project, "status", "--json").stdout)["services"]
        assert [(entry["name"], entry["url"]) for entry in found[:2]] == [
            ("Prefect", f"{there}/api"),
            ("MLflow", there),
        ]
        told = {"PREFECT_API_URL": "http://127.0.0.1:7/api", "MLFLOW_TRACKING_URI": "http://127.0.0.1:7"}
        found = json.loads(command(project, "status", "--json", **told).stdout)["services"]
        assert [entry["url"] for entry in found[:2]] == list(told.values())
        first.kill()
        first.wait()
        assert (project.state / addresses.NAME).exists()
        assert addresses.prefect_url() == addresses.PREFECT_URL
        assert tracking.tracking_uri(project) == f"sqlite:///{project.state / 'mlflow.db'}"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"process": {"pid": 1}}'])
def test_damaged_addresses_are_none(project: Project, content: str) -> None:
    (project.state / addresses.NAME).write_text(content)
    assert addresses.standing(project) is None


def test_servers_end_with_a_stack_that_is_killed(project: Project) -> None:
    """Each with what it started, and the worker alone: its runs end by themselves, and say why."""
    (project.root / "served.py").write_text(SERVED)
    with python(STARTS) as stack:
        wait_for(lambda: all((project.root / name).exists() for name in ("mlflow", "worker")), 20)
        wait_for(lambda: len((project.root / "worker").read_text().split()) == 3, 5)
        server, child, told = (project.root / "mlflow").read_text().split()
        worker, run, _ = (project.root / "worker").read_text().split()
        assert told == "None"  # what a server starts is not ours to watch
        assert all(start_of(int(pid)) for pid in (server, child, worker, run))
        stack.kill()
        stack.wait()
        try:
            wait_for(lambda: not any(start_of(int(pid)) for pid in (server, child, worker)), 10)
            assert start_of(int(run))
        finally:
            for pid in (server, child, worker, run):
                if start_of(int(pid)):
                    os.kill(int(pid), signal.SIGKILL)


def test_the_one_who_has_the_port_is_named(project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        first, _ = servers(project, Ports(mlflow=port))
        wanted = f"port {port} for mlflow is taken by process {os.getpid()} \\(.*python.*\\): .* --mlflow-port"
        with pytest.raises(ValueError, match=wanted):
            services.check_ports(first[:1])


def test_the_record_is_made_in_the_file_whatever_the_environment_names(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after the `export` of the README: its server is the one that is about to start."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setattr(services, "START_S", 0.0)
    with pytest.raises(ServiceDownError, match="mlflow did not come up"):
        services.stand(project, Ports(app=20811, mlflow=20812, prefect=20813), print)
    assert (project.state / "mlflow.db").exists()


@pytest.mark.slow
def test_a_damaged_record_of_mlflow_is_named_with_its_remedy(project: Project) -> None:
    (project.state / "mlflow.db").write_bytes(b"no database" * 700)
    with pytest.raises(
        ServiceDownError, match=r"database is damaged\); put .*mlflow\.db back .* `pivotline sync --again`"
    ):
        services.stand(project, Ports(**{name: free_port() for name in ("app", "mlflow", "prefect")}), print)


def test_a_damaged_database_of_prefect_is_named_with_its_remedy(project: Project, tmp_path: Path) -> None:
    """By `up`, whose Prefect does not start with it, and by doctor."""
    path = tmp_path / "state" / "prefect" / "prefect.db"
    path.parent.mkdir(parents=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        ports = Ports(prefect=probe.getsockname()[1])
    server = next(entry for entry in servers(project, ports)[0] if entry.name == "prefect")
    path.write_bytes(b"no database" * 700)
    process = services.start(project, ports, server)
    with pytest.raises(ServiceDownError, match=r"prefect.db is damaged \(file is not a database\): move it away") as up:
        services.wait_healthy(project, server, process)
    services.end(process)
    assert "prefect.log" in str(up.value)
    (found,) = machine.queue(project)
    assert found.text in str(up.value)
    assert found.remedy in str(up.value)
    path.unlink()
    assert not list(machine.queue(project))
