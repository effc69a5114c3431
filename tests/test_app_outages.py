"""Every view with a server down: it opens, names the server and says how to start it."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from app_project import said, small_project, view
from checkout import ROOT
from record import give_record
from test_doors import free_port

from flows.project import Project

VIEWS = sorted(path.stem for path in (ROOT / "app" / "views").glob("[a-z]*.py"))


class Healthy(BaseHTTPRequestHandler):
    """Says that it is well; nothing more is asked of a server without work."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def healthy() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Healthy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_there_are_eight_views() -> None:
    assert len(VIEWS) == 8


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("missing", ["MLflow", "Prefect"])
def test_a_view_names_the_server_that_is_down_and_the_remedy(
    healthy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, missing: str
) -> None:
    small_project(tmp_path, monkeypatch)
    gone = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("PREFECT_API_URL", f"{gone if missing == 'Prefect' else healthy}/api")
    if missing == "MLflow":
        monkeypatch.setenv("MLFLOW_TRACKING_URI", gone)
    else:
        monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
        give_record(Project(root=tmp_path, state=tmp_path / "state"))
    page = view(name)
    warned = [entry.value for entry in page.warning if entry.value.startswith(f"{missing} does not answer at 127")]
    assert len(warned) == 1
    assert warned[0].endswith("Start it with `make up`.")
    other = {"MLflow", "Prefect"} - {missing}
    assert f"{other.pop()} does not answer" not in said(page)
