"""The stack on one machine: a server that ends is started again, a few times; then the stack ends."""

import sys
from pathlib import Path

import pytest
from scripted import wait_for

from flows import revival, services
from flows.errors import ServiceDownError
from flows.process import start_of
from flows.project import Project
from flows.servers import Ports, Server

FALLS_TWICE = """
import pathlib, sys, time
count = pathlib.Path("count")
count.open("a").write("x")
if len(count.read_text()) < 3:
    sys.exit(3)
pathlib.Path("up").touch()
time.sleep(60)
"""
WAITS_FOR_IT = """
import pathlib, sys, time
while not pathlib.Path("up").exists():
    time.sleep(0.05)
sys.exit(7)
"""
LEAVES_A_CHILD = """
import pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path("left").open("a").write(f"{child.pid} ")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(revival, "FIRST_S", 0.01)
    (tmp_path / "state" / "logs").mkdir(parents=True)
    return Project(root=tmp_path, state=tmp_path / "state")


def watched(project: Project, **scripts: str) -> list[str]:
    """What is said until the stack ends."""
    said: list[str] = []
    plan = [Server(name=name, command=(sys.executable, "-c", script), health="") for name, script in scripts.items()]
    running = [(server, services.start(project, Ports(), server)) for server in plan]
    try:
        services.watch(project, Ports(), running, said.append)
    except ServiceDownError as error:
        said.append(str(error))
    finally:
        for _, process in running:
            services.end(process)
    return said


@pytest.mark.parametrize(("name", "kept"), [("worker", "what it ran can be resumed"), ("app", "runs go on")])
def test_a_server_that_ends_is_started_again(project: Project, name: str, kept: str) -> None:
    said = watched(project, **{name: FALLS_TWICE, "prefect": WAITS_FOR_IT})
    assert (project.root / "count").read_text() == "xxx"
    ended = [line.split(";")[0] for line in said]
    assert ended == [f"{name} ended with status 3"] * 2 + ["prefect ended with status 7"] * (revival.MOST + 1)
    assert all(line.endswith(f"it is started again in 0 s, and {kept}") for line in said[:2])


def test_what_a_server_leaves_behind_is_ended_before_the_next_one_starts(project: Project) -> None:
    """As MLflow's children, which would keep its port."""
    watched(project, mlflow=LEAVES_A_CHILD)
    left = [int(pid) for pid in (project.root / "left").read_text().split()]
    assert len(left) == revival.MOST + 1
    wait_for(lambda: not [pid for pid in left if start_of(pid)], 10)


def test_a_worker_that_ends_for_ever_ends_the_stack(project: Project) -> None:
    said = watched(project, worker="import sys; sys.exit(4)")
    assert len(said) == revival.MOST + 1
    assert said[-1] == f"worker ended with status 4; its output is in {project.state / 'logs' / 'worker.log'}"


def test_pauses_double_and_old_ends_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    at = 1000.0
    monkeypatch.setattr(revival.time, "monotonic", lambda: at)
    ends = revival.Revival()
    assert [ends.pause_s() for _ in range(7)] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, None]
    at += revival.WINDOW_S + 1
    assert ends.pause_s() == 1.0
