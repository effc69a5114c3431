"""The Runs page with 200 runs of 10,000 points beside MLflow's own page of the same runs.

`python -m bench.page` makes the store in a folder of its own, starts the stack on it, and loads both pages by turns:
on a first visit, with nothing of them in the browser, and again in the same browser. It prints medians and their ratio,
the server's memory over many reruns and how far the shown epoch lags behind the file, and writes `bench/page.json`.
A page of Streamlit's with one line in it takes turns with them: less than that, no page of Streamlit's can take.
Takes about six minutes on two quiet cores.
"""

import argparse
import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from playwright.sync_api import Browser, BrowserContext, Error

from bench.browser import BUSY, chromium
from bench.claims import Claim, finish
from bench.lag import lags_s
from bench.reruns import reruns
from bench.serving import bare, server_of, stack
from bench.store import fill
from flows.project import Project

ROOT = Path(__file__).parents[1]
OUT = Path(__file__).with_suffix(".json")
VISITS = ("first visit", "again")
RERUNS_S = 300  # a busy machine does fewer reruns than were asked for, and the claim says how many
SETTLE_S, RESTING_PERCENT = 15.0, 10.0
WARM_UP = 0.2  # of the reruns, after which memory has found its level
# Six runs compared: a chart of curves and six confusions, which are in a component; and the table.
COMPONENT = "[...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')].map(found => found.shadowRoot)"
OURS = (
    "() => document.querySelector('.stEChartsChart canvas')"
    f" && {COMPONENT}.some(found => found && found.querySelectorAll('tbody td').length == 6 * 9)"
    f" && document.querySelector('.stDataFrame canvas') && !document.querySelector('{BUSY}')"
)
# The chart view shows the list of runs at its side, so both are there in one load.
MLFLOW = (
    "() => document.querySelectorAll('.js-plotly-plot .scatterlayer .trace').length > 0"
    " && document.body.innerText.includes('%s')"
)
BARE = f"() => document.querySelector('h1') && !document.querySelector('{BUSY}')"


def stored(project: Project, runs: int, points: int) -> tuple[str, list[str]]:
    """The store of this size: made, or as an earlier bench left it."""
    note = project.state / f"bench-{runs}-{points}.json"
    if not note.exists():
        project.state.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(fill(project, runs, points)), encoding="utf-8")
    experiment, ids = json.loads(note.read_text(encoding="utf-8"))
    return experiment, ids


def load_s(context: BrowserContext, address: str, whole: str) -> float | None:
    """Seconds to a whole page in a new tab on a machine at rest; None when the browser lost its network meanwhile."""
    rest()
    page = context.new_page()
    try:
        began = time.monotonic()
        page.goto(address)
        page.wait_for_function(whole, timeout=120_000)
        return time.monotonic() - began
    except Error:
        return None
    finally:
        page.close()


def rest() -> None:
    """Waits for the machine: what a page or a server still does of the load before would count for the next."""
    end = time.monotonic() + SETTLE_S
    while psutil.cpu_percent(interval=0.5) > RESTING_PERCENT and time.monotonic() < end:
        pass


def compare(browser: Browser, pages: dict[str, tuple[str, str]], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds by page and visit, by turns. The first round warms both servers and does not count."""
    found: dict[str, dict[str, list[float]]] = {name: {visit: [] for visit in VISITS} for name in pages}
    for at in range(rounds + 1):
        for name, (address, whole) in pages.items():
            context = browser.new_context(viewport={"width": 1280, "height": 1600})
            spent = {visit: load_s(context, address, whole) for visit in VISITS}
            context.close()
            print(f"  {name:10}", *("—" if s is None else f"{s:6.2f} s" for s in spent.values()), flush=True)
            for visit, value in spent.items():
                if value is not None and at:
                    found[name][visit].append(value)
    return found


def memory_mib(app: str, query: str, server: psutil.Process, times: int) -> dict[int, float]:
    """The server's resident memory by how many reruns of the comparison it has done."""
    sizes, end = {}, time.monotonic() + RERUNS_S
    for at, _ in enumerate(reruns(app, "runs", query, times), 1):
        if at % max(1, times // 20) == 0:
            sizes[at] = server.memory_info().rss / 2**20
            print(f"  {at:5} reruns {sizes[at]:7.0f} MiB", flush=True)
            if time.monotonic() > end:
                break
    return sizes


def growth_mib(sizes: list[float]) -> float:
    """What memory grew by after it had found its level."""
    return sizes[-1] - sizes[int(WARM_UP * len(sizes))]


def main() -> None:
    asked = argparse.ArgumentParser()
    for name, default in {"runs": 200, "points": 10_000, "rounds": 5, "reruns": 1000, "epochs": 12}.items():
        asked.add_argument(f"--{name}", type=int, default=default)
    asked.add_argument("--state", type=Path, help="folder of the store, which is filled once and kept")
    wanted = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = (wanted.state or Path(folder)).resolve()
        experiment, ids = stored(Project(root=ROOT, state=state), wanted.runs, wanted.points)
        with stack(state) as ports, bare() as empty, chromium() as browser:
            found = measure(browser, ports, empty, state, experiment, ids, wanted)
    finish(OUT, claims(found), found)


def measure(
    browser: Browser,
    ports: dict[str, int],
    empty: str,
    state: Path,
    experiment: str,
    ids: list[str],
    wanted: argparse.Namespace,
) -> dict[str, Any]:
    app, mlflow = (f"http://127.0.0.1:{ports[name]}/" for name in ("app", "mlflow"))
    theirs = f"{mlflow}#/experiments/{experiment}/runs?compareRunsMode=CHART"
    pages = {
        "Pivotline": (f"{app}runs?compare={','.join(ids[:6])}", OURS),
        "MLflow": (theirs, MLFLOW % ids[0]),
        "bare": (empty, BARE),
    }
    load = os.getloadavg()[0]
    return {
        "runs": wanted.runs,
        "points": wanted.points,
        "load before": load,
        "seconds": compare(browser, pages, wanted.rounds),
        "server_mib": memory_mib(app, f"compare={','.join(ids[:2])}", server_of(ports["app"]), wanted.reruns),
        "lags_s": lags_s(browser, app, state, wanted.epochs),
        "load after": os.getloadavg()[0],
    }


def claims(found: dict[str, Any]) -> list[Claim]:
    """The medians of both pages beside each other, and the rest."""
    size = f"{found['runs']} runs of {found['points']:,} points"
    claimed = []
    for visit in VISITS:
        ours, theirs, least = (median(found["seconds"][name][visit]) for name in ("Pivotline", "MLflow", "bare"))
        why = f"a Streamlit page with one line takes {least:.2f} s"
        claimed += [
            Claim(what=f"Runs page with {size}, {visit}: whole after", value=ours, unit="s", goal="<= 2", note=why),
            Claim(what=f"MLflow's page of the same, {visit}: whole after", value=theirs, unit="s", goal=""),
            Claim(what=f"Runs page against MLflow's, {visit}", value=ours / theirs, unit="times", goal="<= 1"),
        ]
    busy = f"load average {found['load before']:.1f} to {found['load after']:.1f} meanwhile"
    sizes, lags = found["server_mib"], found["lags_s"]
    claimed.append(
        Claim(
            what=f"Memory of the page's server over {max(sizes)} reruns: growth after the first fifth",
            value=growth_mib(list(sizes.values())),
            unit="MiB",
            goal="<= 10",
        )
    )
    worst = max(lags) if lags else None
    claimed.append(Claim(what="Live curve behind the file, at most", value=worst, unit="s", goal="<= 5"))
    return [replace(claim, note=f"{claim.note}; {busy}" if claim.note else busy) for claim in claimed]


if __name__ == "__main__":
    main()
