"""The engine and the stack that the tests share, or the reason why there are none."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import docker
import pytest
from containers import SERVERS, Stack, clone


def missing() -> str | None:
    """Why the stack cannot be tried here, None when it can."""
    if not shutil.which("docker"):
        return "there is no docker command"
    for command in (["docker", "version"], ["docker", "compose", "version"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1]}"
    return None


BUILD_S = 1500  # two minutes where nothing else runs
ORDER = (
    "test_start",
    "test_hardening",
    "test_login",
    "test_faults",
    "test_life",
)  # what the secrets are sought in is written first


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.path.parent == Path(__file__).parent]
    ours.sort(key=lambda item: ORDER.index(item.path.stem))
    items[:] = [item for item in items if item not in ours] + ours
    reason = missing() if ours else None
    for item in ours:
        item.add_marker(pytest.mark.stack)
        item.add_marker(pytest.mark.timeout(1800))
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env(timeout=60)
    yield client
    client.close()


@pytest.fixture(scope="session")
def prepared(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A fresh clone with its secrets and its images, not started; an image of an older checkout is built anew."""
    root = clone(tmp_path_factory.mktemp("stack") / "pivotline")
    found = Stack(engine, root, f"pivotline-test-{token_hex(3)}")
    found.make_secrets()
    found.compose("build", timeout_s=BUILD_S)
    yield found
    found.remove()


@pytest.fixture(scope="session")
def stack(prepared: Stack) -> Stack:
    """The stack, started once from nothing and healthy."""
    prepared.up()
    return prepared


@pytest.fixture
def healthy(stack: Stack) -> Stack:
    """The shared stack, brought back to health after what the test before did to it."""
    if not all(stack.healthy(service) for service in SERVERS):
        stack.up()
    return stack
