"""What a hanging MLflow costs a training: its steps and its end beside those with an MLflow that answers.

`python -m bench.outage [--rounds 4]` trains by turns beside a real server and beside one that takes every connection
and never answers, prints both and their ratio, and writes `bench/outage.json`. Takes about five minutes.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from bench.claims import Claim, finish
from bench.hanging import hanging
from bench.serving import free_port
from flows import runfile
from flows.errors import SERVICE_DOWN
from flows.health import ask

ROOT = Path(__file__).parents[1]
OUT = Path(__file__).with_suffix(".json")
SETTINGS = {"model.preset": "lite", "train.epochs": "2", "train.patience_epochs": "2", "train.checkpointing": "false"}


@contextmanager
def mlflow(folder: Path) -> Iterator[str]:
    """The address of a real server with a store of its own."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    words = ["--port", str(port), "--workers", "1", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "server", *words],
        cwd=folder,
        env=os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not ask("MLflow", address, f"{address}/health").up:
            time.sleep(0.3)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def trained(folder: Path, address: str, seed: int) -> tuple[list[float], float]:
    """One run beside that server: seconds of its steps, and from the end of its evaluation to the process's end."""
    state = folder / "state"
    told = {"PIVOTLINE_STATE": str(state), "PIVOTLINE_CACHE": str(folder / "cache"), "MLFLOW_TRACKING_URI": address}
    sets = [
        word for key, value in (SETTINGS | {"train.seed": str(seed)}).items() for word in ("--set", f"{key}={value}")
    ]
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", "run", "--json", *sets],
        cwd=ROOT,
        env=os.environ | told,
        capture_output=True,
        text=True,
        check=False,  # a run that MLflow did not take ends with the code of a service that is down
    )
    left = time.time()
    assert done.returncode in (0, SERVICE_DOWN), done.stderr
    workspace = state / "runs" / json.loads(done.stdout.splitlines()[-1])["run_id"]
    with (workspace / "artifacts" / "curves" / "train.csv").open() as file:
        at = [float(row["elapsed_s"]) for row in csv.DictReader(file)]
    stage = (runfile.read(workspace) or {})["stages"]["evaluate"]
    evaluated = datetime.fromisoformat(stage["started_at"]).timestamp() + stage["elapsed_s"]
    return [later - earlier for earlier, later in pairwise(at)], left - evaluated


def measure(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of all steps and ends beside each server; the first pair of runs warms the machine and does not count."""
    found: dict[str, dict[str, list[float]]] = {name: {"steps": [], "ends": []} for name in ("answers", "hangs")}
    with tempfile.TemporaryDirectory() as name, mlflow(Path(name)) as answering, hanging() as deaf:
        for at in range(rounds + 1):
            for place, (kind, address) in enumerate((("answers", answering), ("hangs", deaf))):
                steps, end = trained(Path(name), address, seed=2 * at + place)  # else DVC restores the second one
                print(f"  {kind:8} {1000 * median(steps):7.1f} ms a step, ends after {end:.1f} s", flush=True)
                if at:
                    found[kind]["steps"] += steps
                    found[kind]["ends"].append(end)
    return found


def claims(found: dict[str, dict[str, list[float]]]) -> list[Claim]:
    """What the promise is about: a step's delay, relative and in milliseconds, and the end."""
    answers, hangs = (median(found[name]["steps"]) for name in ("answers", "hangs"))
    busy = f"load average {os.getloadavg()[0]:.1f} at the end"
    hanging_s, live_s = max(found["hangs"]["steps"]), max(found["answers"]["steps"])
    step = "a step beside a hanging MLflow over one beside a live one, median"
    end = "a process's end after its evaluation, MLflow hanging"
    made = [
        Claim(what=step, value=hangs / answers, unit="x", goal="<= 1.01"),
        Claim(what="longest step beside a hanging MLflow", value=1000 * hanging_s, unit="ms", goal=""),
        Claim(what="longest step beside a live MLflow", value=1000 * live_s, unit="ms", goal=""),
        Claim(what=end, value=max(found["hangs"]["ends"]), unit="s", goal="<= 10"),
    ]
    return [replace(claim, note=busy) for claim in made]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=4)
    found: dict[str, Any] = measure(asked.parse_args().rounds)
    finish(OUT, claims(found), found)


if __name__ == "__main__":
    main()
