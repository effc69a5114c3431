"""House rules of the container stack that need no engine: what every service must have, and that names agree."""

import re
import tomllib
from typing import Any

import pytest
import yaml
from checkout import ROOT

COMPOSE = ROOT / "docker-compose.yml"
OVERLAY = ROOT / "docker-compose.gpu.yml"
ONCE = ("check", "setup", "schema")
VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::?[-?][^}]*)?\}")
REMEDY = "run make secrets"


def stack() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))


def settings() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


SERVICES = stack()["services"]


def test_every_variable_is_in_the_example_and_none_is_left_over() -> None:
    used = set(VARIABLE.findall(COMPOSE.read_text(encoding="utf-8") + OVERLAY.read_text(encoding="utf-8")))
    assert used == set(settings())


def test_every_secret_is_required_with_the_command_that_makes_it() -> None:
    text = COMPOSE.read_text(encoding="utf-8")
    secrets = [name for name, value in settings().items() if value == "generated"]
    assert len(secrets) == 7
    for name in (*secrets, "PIVOTLINE_UID", "PIVOTLINE_GID"):
        uses = re.findall(rf"\$\{{{name}\b[^}}]*\}}", text)
        assert uses
        assert set(uses) == {f"${{{name}:?{REMEDY}}}"}


def test_every_secret_is_checked_before_the_start() -> None:
    secrets = {name for name, value in settings().items() if value == "generated"}
    assert secrets <= set(SERVICES["check"]["environment"])


def test_defaults_are_those_of_the_example() -> None:
    text = COMPOSE.read_text(encoding="utf-8") + OVERLAY.read_text(encoding="utf-8")
    for name, value in re.findall(r"\$\{([A-Z_]+):?-([^}]*)\}", text):
        assert settings()[name] == value


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_hardened(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert "docker.sock" not in str(service)


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_runs_as_root(name: str) -> None:
    expected = (
        "postgres" if name == "postgres" else "${PIVOTLINE_UID:?run make secrets}:${PIVOTLINE_GID:?run make secrets}"
    )
    assert SERVICES[name]["user"] == expected


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ONCE])
def test_every_server_has_a_healthcheck_and_starts_again(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", ONCE)
def test_a_step_of_the_start_ends(name: str) -> None:
    assert SERVICES[name]["restart"] == "no"
    waiting = [other for other in SERVICES.values() if name in other.get("depends_on", {})]
    assert waiting
    assert all(other["depends_on"][name] == {"condition": "service_completed_successfully"} for other in waiting)


def test_only_the_gate_is_published_and_only_here() -> None:
    assert [name for name, service in SERVICES.items() if service.get("ports")] == ["gate"]
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["gate"]["ports"])
    assert not [name for name, service in SERVICES.items() if service.get("network_mode")]


def test_the_databases_have_a_network_of_their_own_without_a_way_out() -> None:
    networks = stack()["networks"]
    assert SERVICES["postgres"]["networks"] == ["db"]
    assert networks["db"] == networks["back"] == {"internal": True}
    assert sorted(name for name, service in SERVICES.items() if "db" in service["networks"]) == [
        "mlflow",
        "postgres",
        "prefect",
        "schema",
    ]
    assert [name for name, service in SERVICES.items() if "front" in service["networks"]] == ["gate"]


def test_images_carry_the_project_s_version_and_no_tag_floats() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    images = {service["image"] for service in SERVICES.values()} - {SERVICES["postgres"]["image"]}
    assert images == {f"pivotline:{version}", f"pivotline-gate:{version}"}
    overlay = yaml.safe_load(OVERLAY.read_text(encoding="utf-8"))["services"]
    assert {service["image"] for service in overlay.values()} == {f"pivotline:{version}-cuda"}
    assert all(service.get("pull_policy") == "never" for name, service in SERVICES.items() if name != "postgres")
    for name in ("PYTHON_IMAGE", "POSTGRES_IMAGE"):
        assert re.search(r":[0-9]", settings()[name])


def test_the_overlay_moves_every_python_service_and_asks_for_one_card() -> None:
    overlay = yaml.safe_load(OVERLAY.read_text(encoding="utf-8"))["services"]
    assert set(overlay) == {name for name, service in SERVICES.items() if service["image"].startswith("pivotline:")}
    devices = {name: service["deploy"] for name, service in overlay.items() if "deploy" in service}
    assert list(devices) == ["worker"]
    assert "nvidia" not in COMPOSE.read_text(encoding="utf-8")


def test_the_checkout_is_read_only_but_for_the_dataset_and_dvc_s_locks() -> None:
    for service in SERVICES.values():
        if ".:/project:ro" in service.get("volumes", []):
            assert "/dev/null:/project/.env:ro" in service["volumes"]
        mounts = [mount for mount in service.get("volumes", []) if mount.startswith((".", "/"))]
        writable = [mount.split(":")[0] for mount in mounts if not mount.endswith(":ro")]
        assert set(writable) <= {"./data", "./.dvc/tmp"}


def test_a_client_and_its_server_are_told_the_same() -> None:
    client, prefect, mlflow = (SERVICES[name]["environment"] for name in ("worker", "prefect", "mlflow"))
    assert client["PREFECT_API_AUTH_STRING"] == prefect["PREFECT_SERVER_API_AUTH_STRING"]
    assert client["MLFLOW_TRACKING_PASSWORD"] == mlflow["MLFLOW_PASSWORD"]
    host = client["MLFLOW_TRACKING_URI"].removeprefix("http://")
    assert host in mlflow["MLFLOW_SERVER_ALLOWED_HOSTS"].split(",")
    shared = ("PREFECT_API_URL", "MLFLOW_TRACKING_URI", "PIVOTLINE_STATE", "PIVOTLINE_CACHE", "PIVOTLINE_PROJECT")
    assert all(SERVICES["app"]["environment"][name] == client[name] for name in shared)


def test_the_image_takes_nothing_of_the_checkout_that_it_does_not_use() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["*", "!requirements.lock", "!docker"]
