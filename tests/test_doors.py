"""One run, three doors: `dvc repro`, `pivotline run` and the served flow give the same weights, bit for bit.

Each door has a project and a cache of its own, so nothing can be restored from another's.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from checkout import copy_project

from flows.project import Project
from flows.services import answers
from model.weights import sha256

pytestmark = pytest.mark.slow
WAIT_S = 240
ADDRESSES = (("PREFECT_API_URL", "prefect", "/api"), ("MLFLOW_TRACKING_URI", "mlflow", ""))


def environment(project: Project, **more: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_", "PIVOTLINE"))
    }
    return kept | {"PATH": path, "PIVOTLINE_STATE": str(project.state), "PYTHONDONTWRITEBYTECODE": "1"} | more


def pivotline(project: Project, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The command line of the project's own copy of the source."""
    command = [sys.executable, "-m", "flows.cli", *words]
    env = environment(project, **more)
    return subprocess.run(
        command, cwd=project.root, env=env, capture_output=True, text=True, timeout=WAIT_S, check=False
    )


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr + done.stdout
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


@pytest.fixture(scope="module")
def foreground(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, Any]]:
    """A project in which `pivotline run` ran once, and that run's result."""
    project = copy_project(tmp_path_factory.mktemp("foreground") / "project")
    return project, answer(pivotline(project, "run", "--json"))


@pytest.fixture(scope="module")
def repro(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_project(tmp_path_factory.mktemp("repro") / "project")
    subprocess.run([sys.executable, "-m", "dvc", "repro"], cwd=project.root, env=environment(project), check=True)
    return project


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, dict[str, str]]]:
    """The embedded stack of a project on free ports, and what its clients are told; ended by one SIGINT."""
    project = copy_project(tmp_path_factory.mktemp("stack") / "project")
    ports = {name: free_port() for name in ("app", "mlflow", "prefect")}
    options = [word for name, port in ports.items() for word in (f"--{name}-port", str(port))]
    command = [sys.executable, "-m", "flows.cli", "up", *options]
    env = environment(project)
    process = subprocess.Popen(
        command, cwd=project.root, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    told = {name: f"http://127.0.0.1:{ports[port]}{path}" for name, port, path in ADDRESSES}
    told["app"] = f"http://127.0.0.1:{ports['app']}"
    with process.stdout as lines:
        try:
            assert any(line.startswith("Pivotline is up") for line in lines), "the stack did not come up"
            below = psutil.Process(process.pid).children(recursive=True)
            yield project, told
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
    assert code == 0
    _, alive = psutil.wait_procs(below, timeout=5)
    assert not alive


def follow(project: Project, told: dict[str, str], run_id: str) -> dict[str, Any]:
    """The run's view once it has ended."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        view = answer(pivotline(project, "status", run_id, "--json", **told))
        if view["state"] not in ("queued", "running"):
            return view
        time.sleep(3)
    raise AssertionError(f"{run_id} did not end")


def test_repro_and_run_give_the_same_weights(foreground: tuple[Project, dict[str, Any]], repro: Project) -> None:
    assert foreground[1]["weights_sha256"] == sha256(repro.root / "artifacts" / "model" / "weights.safetensors")


def test_the_deployment_gives_the_same_weights(
    foreground: tuple[Project, dict[str, Any]], stack: tuple[Project, dict[str, str]]
) -> None:
    project, told = stack
    asked = answer(pivotline(project, "trigger", "--json", **told))
    again = answer(pivotline(project, "trigger", "--key", asked["run_id"], "--json", **told))
    assert again["flow_run_id"] == asked["flow_run_id"]
    view = follow(project, told, asked["run_id"])
    assert view["state"] == "done", view["message"]
    assert [state for _, state, _ in view["stages"]] == ["done"] * 4
    assert view["result"]["weights_sha256"] == foreground[1]["weights_sha256"]
    assert view["result"]["registered"]["aliases"] == ["candidate", "champion"]


def test_a_triggered_run_is_restored_and_a_queued_one_can_be_cancelled(stack: tuple[Project, dict[str, str]]) -> None:
    project, told = stack
    first = answer(pivotline(project, "trigger", "--json", **told))["run_id"]
    second = answer(pivotline(project, "trigger", "--json", **told))["run_id"]
    pivotline(project, "cancel", second, **told)
    assert [state for _, state, _ in follow(project, told, first)["stages"][:3]] == ["cached"] * 3
    assert follow(project, told, second)["state"] == "cancelled"


def training(project: Project, told: dict[str, str], epochs: int) -> str:
    """The id of a triggered run, once it trains."""
    run_id = answer(pivotline(project, "trigger", "--set", f"train.epochs={epochs}", "--json", **told))["run_id"]
    deadline = time.monotonic() + WAIT_S
    while not answer(pivotline(project, "status", run_id, "--json", **told))["progress"]:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    return str(run_id)


def test_a_running_run_is_cancelled_with_all_its_processes(stack: tuple[Project, dict[str, str]]) -> None:
    project, told = stack
    run_id = training(project, told, epochs=900)
    assert pivotline(project, "cancel", run_id, **told).returncode == 0
    assert follow(project, told, run_id)["state"] == "cancelled"
    workspace = str(project.workspace(run_id))
    assert not [process.pid for process in psutil.process_iter() if in_folder(process, workspace)]


def test_a_run_goes_on_when_the_page_and_mlflow_are_killed(stack: tuple[Project, dict[str, str]]) -> None:
    """Both are started again, and the page shows the run as before."""
    project, told = stack
    run_id = training(project, told, epochs=9)
    killed = [process for process in psutil.process_iter() if serves(process, project)]
    assert len(killed) >= 2
    for process in killed:
        process.kill()
    view = follow(project, told, run_id)
    assert (view["state"], view["attempt"]) == ("done", 1), view["message"]
    deadline = time.monotonic() + WAIT_S
    while not answers(told["app"]) or not answers(told["MLFLOW_TRACKING_URI"]):
        assert time.monotonic() < deadline
        time.sleep(0.5)


def serves(process: psutil.Process, project: Project) -> bool:
    """Whether a process is the page's or MLflow's server in this project."""
    try:
        words = process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
    return in_folder(process, str(project.root)) and words[2:4] in (["flows.tether", "app"], ["flows.tether", "mlflow"])


def in_folder(process: psutil.Process, folder: str) -> bool:
    try:
        return process.cwd() == folder
    except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):  # one in a folder too deep to be named
        return False


def test_the_second_run_is_restored_and_registers_its_own_version(foreground: tuple[Project, dict[str, Any]]) -> None:
    project, first = foreground
    second = answer(pivotline(project, "run", "--json"))
    assert second["weights_sha256"] == first["weights_sha256"]
    assert second["registered"]["version"] == first["registered"]["version"] + 1
    record = json.loads((project.workspace(second["run_id"]) / "run.json").read_text())
    assert [record["stages"][name]["state"] for name in ("preprocess", "train", "evaluate")] == ["cached"] * 3


def heed_interrupts() -> None:
    """A shell has what it starts in the background ignore Ctrl-C, and its children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_so_and_leaves_no_process(
    foreground: tuple[Project, dict[str, Any]], sign: signal.Signals, code: int
) -> None:
    project, _ = foreground
    command = [sys.executable, "-m", "flows.cli", "run", "--set", "train.epochs=900", "--set", f"train.seed={code}"]
    known = set(project.runs.iterdir())
    with subprocess.Popen(
        command,
        cwd=project.root,
        env=environment(project),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert any("epoch 1" in line for line in process.stdout)
        process.send_signal(sign)
        process.stdout.read()
        said = process.stderr.read()
    assert process.returncode == code
    assert "cancelled; what was complete is kept" in said
    assert "Traceback" not in said
    (workspace,) = set(project.runs.iterdir()) - known
    assert json.loads((workspace / "run.json").read_text())["state"] == "cancelled"
    assert not [entry.pid for entry in psutil.process_iter() if in_folder(entry, str(workspace))]


def test_dvc_shows_metrics_params_and_plots(repro: Project) -> None:
    env = environment(repro)
    dvc = [sys.executable, "-m", "dvc"]
    shown = json.loads(subprocess.check_output([*dvc, "metrics", "show", "--json"], cwd=repro.root, env=env))
    files = shown[""]["data"]
    assert "balanced_accuracy" in files["artifacts/evaluation.json"]["data"]
    subprocess.run([*dvc, "plots", "show"], cwd=repro.root, env=env, check=True, capture_output=True)
    page = (repro.root / "dvc_plots" / "index.html").read_text(encoding="utf-8")
    assert all(title in page for title in ("Training loss", "Validation loss", "Test split"))


def test_every_curve_point_is_in_the_record(foreground: tuple[Project, dict[str, Any]]) -> None:
    from flows.curves import read_curves
    from flows.tracking import client

    project, result = foreground
    tracking = client(project)
    rows = read_curves(project.workspace(result["run_id"]))
    for split, points in rows.items():
        history = tracking.get_metric_history(result["mlflow_run_id"], f"{split}/loss")
        assert [(entry.step, entry.value) for entry in history] == [(int(r["step"]), float(r["loss"])) for r in points]


def test_the_version_holds_no_pickle_and_predicts(foreground: tuple[Project, dict[str, Any]]) -> None:
    import mlflow
    import numpy as np

    from flows.tracking import client

    project, result = foreground
    client(project)
    folder = Path(mlflow.artifacts.download_artifacts("models:/pivotline@candidate"))
    assert not [path for path in folder.rglob("*") if path.suffix in (".pkl", ".pickle", ".pt", ".pth", ".bin")]
    assert sha256(next(folder.rglob("weights.safetensors"))) == result["weights_sha256"]
    request = dict(np.load(project.workspace(result["run_id"]) / "artifacts" / "example.npz", allow_pickle=False))
    said = mlflow.pyfunc.load_model("models:/pivotline@candidate").predict(request)
    assert said["action"][0] in ("hold", "buy", "sell")
    assert said[["p_hold", "p_buy", "p_sell"]].sum(axis=1)[0] == pytest.approx(1.0, abs=1e-5)
