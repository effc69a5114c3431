"""From a fresh clone to a registered model: one command for secrets, one for the stack."""

import hashlib
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import mlflow
import pytest
from browsing import CHROMIUM, choose, give, log_in, start, train_page
from containers import SMALL, Stack, clone
from mlflow.tracking import MlflowClient
from playwright.sync_api import expect


def test_without_secrets_it_refuses_and_names_the_command(tmp_path: Path) -> None:
    root = clone(tmp_path / "pivotline")
    done = subprocess.run(["docker", "compose", "up"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "run make secrets" in done.stderr


def test_the_secrets_are_random_and_for_their_owner_alone(prepared: Stack) -> None:
    assert stat.S_IMODE((prepared.root / ".env").stat().st_mode) == 0o600
    secrets = [value for name, value in prepared.settings.items() if name.endswith(("_PASSWORD", "_KEY"))]
    assert len(secrets) == len(set(secrets)) == 7
    assert all(len(value) == 32 for value in secrets)


@pytest.mark.parametrize(
    "weak", ["admin", "password1234password1234", "aaaaaaaaaaaaaaaaaaaaaaaa", "it's:a/secret@of#mine!"]
)
def test_a_weak_secret_stops_the_start(prepared: Stack, weak: str) -> None:
    good = prepared.settings["APP_PASSWORD"]
    prepared.set("APP_PASSWORD", weak)
    try:
        done = prepared.run("docker", "compose", "run", "--rm", "--no-TTY", "check")
    finally:
        prepared.set("APP_PASSWORD", good)
    assert done.returncode == 2
    assert done.stdout.startswith("APP_PASSWORD ")
    assert weak not in done.stdout


@pytest.fixture(scope="module")
def finished(stack: Stack) -> dict[str, Any]:
    """A small run, asked for from the page's container and carried out by the worker."""
    return stack.wait_for_state(stack.trigger(SMALL), "done", "failed", "crashed")


def test_a_run_ends_registered(finished: dict[str, Any]) -> None:
    assert finished["state"] == "done", finished["message"]
    assert finished["result"]["registered"]["version"] >= 1
    assert "candidate" in finished["result"]["registered"]["aliases"]


def test_the_weights_are_those_of_a_run_without_containers(
    stack: Stack, finished: dict[str, Any], tmp_path: Path
) -> None:
    changes = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_", "PIVOTLINE"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", "run", *changes, "--json"],
        cwd=stack.root,
        env=kept | {"PIVOTLINE_STATE": str(tmp_path / "state"), "PIVOTLINE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert finished["result"]["weights_sha256"] in done.stdout


def test_artifacts_are_read_back_by_a_plain_client_outside(
    stack: Stack, finished: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "admin")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", stack.settings["MLFLOW_PASSWORD"])
    client = MlflowClient(tracking_uri=stack.address("mlflow"), registry_uri=stack.address("mlflow"))
    version = client.get_model_version_by_alias("pivotline", "champion")
    assert client.get_metric_history(finished["result"]["mlflow_run_id"], "train/loss")
    mlflow.set_tracking_uri(stack.address("mlflow"))
    folder = Path(mlflow.artifacts.download_artifacts(f"models:/pivotline/{version.version}", dst_path=str(tmp_path)))
    (weights,) = folder.rglob("weights.safetensors")
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == finished["result"]["weights_sha256"]


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no Chromium at {CHROMIUM}")
def test_a_run_is_started_in_the_browser_behind_the_password(stack: Stack) -> None:
    with train_page(stack) as page:
        give(page, "not the password")
        expect(page.get_by_text("That is not the password.")).to_be_visible()
        expect(page.get_by_role("heading", name="Train", exact=True)).not_to_be_visible()
        log_in(page, stack)
        choose(page, epochs=2, seq_len=20)
        run_id = start(page)
        expect(page.get_by_text(re.compile("balanced accuracy on .* test samples"))).to_be_visible(timeout=400_000)
    assert stack.status(run_id)["state"] == "done"
