"""The Runs page with 200 runs of 10,000 points beside MLflow's own page of the same runs.

`python -m bench.page` makes the store in a folder of its own, starts the stack on it, and loads both pages by turns,
each in a fresh browser context. It prints medians and their ratio, the server's memory over many reruns and how far the
shown epoch lags behind the file, and writes `bench/page.json`.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from playwright.sync_api import Browser, Error, Page

from bench.browser import BUSY, chromium
from bench.lag import lags_s
from bench.store import fill
from flows.project import Project

ROOT = Path(__file__).parents[1]
OUT = Path(__file__).with_suffix(".json")
GOAL_S, LAG_GOAL_S = 2.0, 5.0
# Six runs compared: a chart of curves and six confusions; and the table.
OURS = (
    "() => document.querySelectorAll('.stEChartsChart canvas').length >= 7"
    f" && document.querySelector('.stDataFrame canvas') && !document.querySelector('{BUSY}')"
)
# The chart view shows the list of runs at its side, so both are there in one load.
MLFLOW = (
    "() => document.querySelectorAll('.js-plotly-plot .scatterlayer .trace').length > 0"
    " && document.body.innerText.includes('%s')"
)


def stored(project: Project, runs: int, points: int) -> tuple[str, list[str]]:
    """The store of this size: made, or as an earlier bench left it."""
    note = project.state / f"bench-{runs}-{points}.json"
    if not note.exists():
        project.state.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(fill(project, runs, points)), encoding="utf-8")
    experiment, ids = json.loads(note.read_text(encoding="utf-8"))
    return experiment, ids


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def stack(state: Path) -> Iterator[dict[str, int]]:
    """The embedded stack on a state folder; its ports by server."""
    ports = {name: free_port() for name in ("app", "mlflow", "prefect")}
    words = [word for name, port in ports.items() for word in (f"--{name}-port", str(port))]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW", "PREFECT"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "up", *words],
        cwd=ROOT,
        env=known | {"PIVOTLINE_STATE": str(state)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert any(line.startswith("Pivotline is up") for line in process.stdout), "the stack did not come up"
        yield ports
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def load_s(browser: Browser, address: str, whole: str) -> float | None:
    """Seconds to a whole page in a fresh context; None when the browser lost its network meanwhile."""
    page = browser.new_context(viewport={"width": 1280, "height": 1600}).new_page()
    try:
        began = time.monotonic()
        page.goto(address)
        page.wait_for_function(whole, timeout=120_000)
        return time.monotonic() - began
    except Error:
        return None
    finally:
        page.context.close()


def compare(browser: Browser, pages: dict[str, tuple[str, str]], rounds: int) -> dict[str, list[float]]:
    """Loads the pages by turns. The first round warms both servers and does not count."""
    found: dict[str, list[float]] = {name: [] for name in pages}
    for at in range(rounds + 1):
        for name, (address, whole) in pages.items():
            spent = load_s(browser, address, whole)
            print(f"  {name:10} {'—' if spent is None else f'{spent:6.2f} s'}", flush=True)
            if spent is not None and at:
                found[name].append(spent)
    return found


def server_of(port: int) -> psutil.Process:
    return next(
        process
        for process in psutil.process_iter(["cmdline"])
        if str(port) in (process.info["cmdline"] or []) and "streamlit" in process.info["cmdline"]
    )


def memory_mib(page: Page, server: psutil.Process, reruns: int) -> list[float]:
    """The server's resident memory after each tenth of so many reruns of the comparison."""
    switch = page.locator(".st-key-log label").first
    switch.wait_for()
    sizes = []
    for at in range(reruns + 1):
        if at % max(1, reruns // 10) == 0:
            sizes.append(server.memory_info().rss / 2**20)
            print(f"  {at:5} reruns {sizes[-1]:7.0f} MiB", flush=True)
        switch.click()
        page.wait_for_function(f"() => !document.querySelector('{BUSY}')")
    return sizes


def main() -> None:
    asked = argparse.ArgumentParser()
    for name, default in {"runs": 200, "points": 10_000, "rounds": 5, "reruns": 1000, "epochs": 30}.items():
        asked.add_argument(f"--{name}", type=int, default=default)
    asked.add_argument("--state", type=Path, help="folder of the store, which is filled once and kept")
    wanted = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = (wanted.state or Path(folder)).resolve()
        experiment, ids = stored(Project(root=ROOT, state=state), wanted.runs, wanted.points)
        with stack(state) as ports, chromium() as browser:
            report = measure(browser, ports, state, experiment, ids, wanted)
    OUT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(
    browser: Browser,
    ports: dict[str, int],
    state: Path,
    experiment: str,
    ids: list[str],
    wanted: argparse.Namespace,
) -> dict[str, Any]:
    app, mlflow = (f"http://127.0.0.1:{ports[name]}/" for name in ("app", "mlflow"))
    ours = f"{app}runs?compare={','.join(ids[:6])}"
    theirs = f"{mlflow}#/experiments/{experiment}/runs?compareRunsMode=CHART"
    spent = compare(browser, {"Pivotline": (ours, OURS), "MLflow": (theirs, MLFLOW % ids[0])}, wanted.rounds)
    medians = {name: median(values) for name, values in spent.items() if values}
    print("  ".join(f"{name} {value:.2f} s" for name, value in medians.items()), f"(goal {GOAL_S} s)")
    if len(medians) == 2:
        print(f"ratio Pivotline / MLflow {medians['Pivotline'] / medians['MLflow']:.2f}")
    page = browser.new_page()
    page.goto(ours)
    page.wait_for_function(OURS, timeout=120_000)
    memory = memory_mib(page, server_of(ports["app"]), wanted.reruns)
    lags = lags_s(browser, app, state, wanted.epochs)
    if lags:
        print(f"lag of the live curve: median {median(lags):.1f} s, largest {max(lags):.1f} s (goal {LAG_GOAL_S} s)")
    return {
        "runs": wanted.runs,
        "points": wanted.points,
        "seconds": spent,
        "medians": medians,
        "reruns": wanted.reruns,
        "server_mib": memory,
        "lags_s": lags,
    }


if __name__ == "__main__":
    main()
