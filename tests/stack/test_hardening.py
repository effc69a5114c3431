"""What a stranger, a hostile page and a broken service can do: nothing."""

import base64
import http.client
import json
import re
import socket
from typing import Any

import pytest
from browsing import CHROMIUM, log_in, train_page
from containers import SERVERS, Stack
from playwright.sync_api import expect

PYTHON = ("mlflow", "prefect", "worker", "app")
VIEWS = ("Overview", "Train", "Runs", "Size", "Memory", "Data", "Registry", "Predict")
PAGES = ("page", "mlflow", "prefect")
EVERYTHING = ("check", "setup", "schema", *SERVERS)
OWN_AND_FOREIGN = {"mlflow:5000": "200", "evil.com": "403"}
PROBE = """
import socket, sys
for port in map(int, sys.argv[2:]):
    try:
        socket.create_connection((sys.argv[1], port), timeout=3).close()
        print("open", port)
    except OSError as error:
        print("closed", port, type(error).__name__)
"""


def ask(
    stack: Stack, page: str, path: str = "/", method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of one request; `Host` is what is asked for unless it is given."""
    address = stack.address(page).removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=15)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def prefect_login(stack: Stack) -> str:
    return basic("pivotline", stack.settings["PREFECT_PASSWORD"])


def mlflow_login(stack: Stack) -> str:
    return basic("admin", stack.settings["MLFLOW_PASSWORD"])


@pytest.mark.parametrize("service", SERVERS)
def test_a_server_runs_as_nobody_special_in_a_read_only_file_system(healthy: Stack, service: str) -> None:
    assert healthy.inside(service, "id", "-u")[1].strip() != "0"
    code, said = healthy.inside(service, "touch", "/x")
    assert code != 0
    assert "Read-only file system" in said
    status = healthy.inside(service, "cat", "/proc/1/status")[1]
    assert re.search(r"CapEff:\s+0+\n", status)
    assert re.search(r"CapBnd:\s+0+\n", status)
    assert re.search(r"NoNewPrivs:\s+1\n", status)


@pytest.mark.parametrize("service", EVERYTHING)
def test_the_engine_holds_every_container_to_its_limits(healthy: Stack, service: str) -> None:
    host: dict[str, Any] = healthy.container(service).attrs["HostConfig"]
    assert host["ReadonlyRootfs"]
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert host["Memory"] > 0
    assert host["PidsLimit"] > 0
    assert host["LogConfig"]["Config"] == {"max-file": "3", "max-size": "10m"}
    assert "docker.sock" not in json.dumps(host)


def test_only_loopback_is_published(healthy: Stack) -> None:
    bound = [
        entry["HostIp"]
        for container in healthy.containers()
        for bindings in (container.attrs["HostConfig"]["PortBindings"] or {}).values()
        for entry in bindings
    ]
    assert bound == ["127.0.0.1"] * 3


def test_from_another_address_nothing_answers(healthy: Stack) -> None:
    """A neighbour on a network of its own reaches this machine at that network's gateway, not at 127.0.0.1."""
    ports = [healthy.settings[name] for name in ("APP_PORT", "MLFLOW_PORT", "PREFECT_PORT")]
    for port in ports:
        socket.create_connection(("127.0.0.1", int(port)), timeout=3).close()
    network = healthy.engine.networks.create(f"{healthy.name}-neighbour")
    try:
        gateway = healthy.engine.networks.get(network.id).attrs["IPAM"]["Config"][0]["Gateway"]
        command = ["python", "-c", PROBE, gateway, *ports, "5432"]
        image = healthy.container("app").attrs["Config"]["Image"]
        said = healthy.engine.containers.run(image, command, network=network.name, remove=True).decode()
    finally:
        network.remove()
    assert said.count("closed") == 4, said


def test_the_databases_cannot_be_reached_from_the_page_or_the_worker(healthy: Stack) -> None:
    for service in ("app", "worker", "gate"):
        code, _ = healthy.inside(service, "bash", "-c", "exec 3<>/dev/tcp/postgres/5432")
        assert code != 0
    assert healthy.inside("mlflow", "bash", "-c", "exec 3<>/dev/tcp/postgres/5432")[0] == 0


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("host", ["evil.com", "evil.com:80", "127.0.0.1.evil.com", "localhost.evil.com", "169.254.0.1"])
def test_a_foreign_host_is_refused(healthy: Stack, page: str, host: str) -> None:
    assert ask(healthy, page, Host=host)[0] == 403
    assert ask(healthy, page, Host=host, Origin=f"http://{host}")[0] == 403


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "origin", ["http://evil.com", "https://127.0.0.1", "null", "http://127.0.0.1", "http://127.0.0.1:1"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(healthy: Stack, page: str, origin: str, method: str) -> None:
    assert ask(healthy, page, method=method, Origin=origin)[0] == 403


FOREIGN = """
import sys, urllib.error, urllib.request
asked = urllib.request.Request("http://mlflow:5000/api/2.0/mlflow/experiments/search?max_results=5")
asked.add_header("Authorization", sys.argv[1])
asked.add_header("Host", sys.argv[2])
try:
    print(urllib.request.urlopen(asked).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""


def test_mlflow_itself_refuses_a_foreign_host_too(healthy: Stack) -> None:
    """Its own check is on where the gate is passed by: between the containers."""
    login = mlflow_login(healthy)
    asked = {host: healthy.inside("app", "python", "-c", FOREIGN, login, host)[1].strip() for host in OWN_AND_FOREIGN}
    assert asked == OWN_AND_FOREIGN


def test_the_own_host_and_origin_pass(healthy: Stack) -> None:
    for page, path, login in (
        ("page", "/_stcore/health", ""),
        ("mlflow", "/version", mlflow_login(healthy)),
        ("prefect", "/api/admin/version", prefect_login(healthy)),
    ):
        status, headers, _ = ask(healthy, page, path, Origin=healthy.address(page), Authorization=login)
        assert status == 200
        assert headers.get("access-control-allow-origin") in (None, healthy.address(page))
        assert headers["x-frame-options"] == "SAMEORIGIN"
        assert "connect-src 'self'" in headers["content-security-policy"]


def test_a_websocket_opens_from_the_own_page_alone(healthy: Stack) -> None:
    own = healthy.address("page")
    host = own.removeprefix("http://")
    assert handshake(host, host, own) == 101
    assert handshake(host, host, "http://evil.com") == 403
    assert handshake(host, "evil.com", "http://evil.com") == 403


def handshake(address: str, host: str, origin: str) -> int:
    """The status of a websocket's opening; an open one has no body to read, so the socket is read once."""
    lines = (
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}",
        f"Origin: {origin}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    name, _, port = address.partition(":")
    with socket.create_connection((name, int(port)), timeout=10) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(connection.recv(64).split()[1])


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("mlflow", "/"),
        ("mlflow", "/version"),
        ("mlflow", "/api/2.0/mlflow/experiments/search?max_results=5"),
        ("mlflow", "/api/2.0/mlflow-artifacts/artifacts"),
        ("prefect", "/api/admin/settings"),
        ("prefect", "/api/admin/version"),
    ],
)
def test_nothing_is_told_without_a_login(healthy: Stack, page: str, path: str) -> None:
    assert ask(healthy, page, path)[0] == 401
    assert ask(healthy, page, path, Authorization=basic("admin", "password1234"))[0] == 401


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/api/docs", "/api/openapi.json"])
def test_prefect_does_not_describe_itself(healthy: Stack, path: str) -> None:
    assert ask(healthy, "prefect", path)[0] == 404


def test_prefect_sends_no_page_of_another_origin_an_answer(healthy: Stack) -> None:
    found = ask(healthy, "prefect", "/api/admin/version", Authorization=prefect_login(healthy))[1]
    assert "access-control-allow-origin" not in found


def secrets_of(stack: Stack) -> dict[str, str]:
    return {name: value for name, value in stack.settings.items() if name.endswith(("_PASSWORD", "_KEY"))}


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no Chromium at {CHROMIUM}")
def test_secrets_are_on_no_view_of_the_page(healthy: Stack) -> None:
    with train_page(healthy) as page:
        log_in(page, healthy)
        for name in VIEWS:
            page.goto(f"{healthy.address('page')}/{name.lower()}")
            expect(page.get_by_role("heading", level=1)).to_have_text(name)
            page.wait_for_load_state("networkidle")
            text = page.content()
            assert not [secret for secret, value in secrets_of(healthy).items() if value in text], name


def test_secrets_are_in_no_log_answer_layer_or_file(healthy: Stack) -> None:
    """Every secret of .env is a canary: after runs, none is found where somebody could read it without being root."""
    secrets = secrets_of(healthy)
    places = {"logs": healthy.logs()}
    for page, path, login in (
        ("prefect", "/api/admin/settings", prefect_login(healthy)),
        ("prefect", "/ui-settings", ""),
        ("mlflow", "/api/2.0/mlflow/experiments/search?max_results=5", mlflow_login(healthy)),
        ("page", "/", ""),
        ("page", "/_stcore/host-config", ""),
    ):
        places[f"{page}{path}"] = ask(healthy, page, path, Authorization=login)[2]
    for service in ("worker", "mlflow"):
        volume = {"worker": "/state", "mlflow": "/artifacts"}[service]
        pattern = "|".join(secrets.values())
        places[volume] = healthy.inside(service, "grep", "-rlaE", pattern, volume)[1]
        assert places[volume] == ""
    for name in ("app", "gate"):
        image = healthy.engine.images.get(healthy.container(name).attrs["Image"])
        places[f"layers of {name}"] = json.dumps(image.history()) + json.dumps(image.attrs)
    dumped = [healthy.inside("postgres", "pg_dump", "--username=postgres", name)[1] for name in ("mlflow", "prefect")]
    places["databases"] = "".join(dumped)
    assert all(places[name] for name in ("logs", "databases", "prefect/api/admin/settings"))
    found = [(place, name) for place, text in places.items() for name, value in secrets.items() if value in text]
    assert not found


def test_a_foreign_owner_of_the_checkout_is_no_doubt_for_git_or_dvc(healthy: Stack) -> None:
    for command in (("git", "log", "-1", "--format=%h"), ("dvc", "status", "data.dvc")):
        code, said = healthy.inside("worker", *command)
        assert code == 0, said
