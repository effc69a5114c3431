"""A stack of its own for tests: a fresh clone of this checkout, started with its own commands on free ports."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.models.containers import Container

ROOT = Path(__file__).parents[2]
SERVERS = ("postgres", "mlflow", "prefect", "worker", "app", "gate")
SMALL = {
    "preprocess.seq_len": 24,
    "model.preset": "lite",
    "train.epochs": 1,
    "train.batch_size": 32,
    "train.patience_epochs": 1,
}
LONG = SMALL | {"train.epochs": 1000, "train.patience_epochs": 1000, "train.batch_size": 4}  # runs until it is ended
ASK_EVERY_S = 4.0  # the command line takes over a second of a core to answer, which the run needs, too
PORTS = {"page": "APP_PORT", "mlflow": "MLFLOW_PORT", "prefect": "PREFECT_PORT"}


def clone(target: Path) -> Path:
    """What `git clone` gives, with what is not committed yet on top."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(target)], check=True)
    listed = ["git", "ls-files", "--modified", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, target / name)
    return target


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(what: str, limit_s: float, done: Callable[[], object], every_s: float = 0.5) -> float:
    """Seconds until `done` is true; fails with `what` when that takes longer than `limit_s`."""
    started = time.monotonic()
    while not done():
        assert time.monotonic() - started < limit_s, f"{what}: not within {limit_s:.0f} s"
        time.sleep(every_s)
    return time.monotonic() - started


class Stack:
    """One compose project in a checkout; its containers are found by Compose's own labels."""

    def __init__(self, engine: DockerClient, root: Path, name: str) -> None:
        self.engine, self.root, self.name = engine, root, name

    def make_secrets(self) -> None:
        """Runs the documented command, then moves the ports to free ones."""
        subprocess.run(["make", "secrets"], cwd=self.root, check=True, capture_output=True)
        for variable in PORTS.values():
            self.set(variable, str(free_port()))

    @property
    def settings(self) -> dict[str, str]:
        lines = (self.root / ".env").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))

    def set(self, name: str, value: str) -> None:
        lines = (self.root / ".env").read_text(encoding="utf-8").splitlines()
        changed = [f"{name}={value}" if line.startswith(f"{name}=") else line for line in lines]
        assert changed != lines or f"{name}={value}" in lines
        (self.root / ".env").write_text("\n".join(changed) + "\n", encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"COMPOSE_PROJECT_NAME": self.name}

    def address(self, page: str) -> str:
        return f"http://127.0.0.1:{self.settings[PORTS[page]]}"

    def run(self, *command: str, timeout_s: float = 280) -> subprocess.CompletedProcess[str]:
        """A command in the checkout, as its user would type it."""
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def compose(self, *words: str, timeout_s: float = 280) -> str:
        done = self.run("docker", "compose", *words, timeout_s=timeout_s)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def up(self, *options: str, limit_s: float = 300) -> float:
        """`docker compose up`, which builds what is missing; returns the seconds until every server is healthy."""
        started = time.monotonic()
        self.compose("up", "--detach", *options, timeout_s=800)
        self.wait_healthy(limit_s)
        return time.monotonic() - started

    def wait_healthy(self, limit_s: float = 300, services: tuple[str, ...] = SERVERS) -> float:
        return wait_for(f"{services} healthy", limit_s, lambda: all(self.healthy(name) for name in services))

    def healthy(self, service: str) -> bool:
        found = self.containers(service)
        return bool(found) and found[0].attrs["State"].get("Health", {}).get("Status") == "healthy"

    def containers(self, service: str | None = None) -> list[Container]:
        labels = [f"com.docker.compose.project={self.name}", "com.docker.compose.oneoff=False"]
        labels += [f"com.docker.compose.service={service}"] if service else []
        return list(self.engine.containers.list(all=True, filters={"label": labels}))

    def container(self, service: str) -> Container:
        (found,) = self.containers(service)
        return found

    def restarts(self) -> dict[str, int]:
        """How often the engine has started each server anew by itself."""
        return {name: int(self.container(name).attrs["RestartCount"]) for name in SERVERS}

    def inside(self, service: str, *command: str) -> tuple[int, str]:
        """Exit code and output of a command in a running container."""
        done = self.container(service).exec_run(list(command))
        return int(done.exit_code), done.output.decode("utf-8", "replace")

    def logs(self) -> str:
        return "\n".join(entry.logs().decode("utf-8", "replace") for entry in self.containers())

    def pivotline(self, *words: str) -> dict[str, Any]:
        """The command line in the page's container: it asks `flows.control`, as the page does."""
        code, said = self.inside("app", "python", "-m", "flows.cli", *words, "--json")
        assert code == 0, said
        return dict(json.loads(said.strip().splitlines()[-1]))

    def trigger(self, settings: dict[str, Any]) -> str:
        changes = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        return str(self.pivotline("trigger", *changes)["run_id"])

    def status(self, run_id: str) -> dict[str, Any]:
        return self.pivotline("status", run_id)

    def wait_for_state(self, run_id: str, *states: str, limit_s: float = 400) -> dict[str, Any]:
        wait_for(f"run {run_id} {states}", limit_s, lambda: self.status(run_id)["state"] in states, ASK_EVERY_S)
        return self.status(run_id)

    def wait_for_steps(self, run_id: str, limit_s: float = 300) -> dict[str, Any]:
        """Until the run trains: its first update is written down."""
        wait_for(f"run {run_id} training", limit_s, lambda: self.status(run_id)["progress"], ASK_EVERY_S)
        return self.status(run_id)

    def kill(self, service: str) -> None:
        """SIGKILL to a container's process from outside, as the kernel does it: the engine knows of no wish to stop."""
        os.kill(self.container(service).attrs["State"]["Pid"], 9)

    def remove(self) -> None:
        self.run("docker", "compose", "down", "--volumes", "--remove-orphans", "--timeout", "5")
