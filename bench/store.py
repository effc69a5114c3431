"""A store of many finished runs with long curves, the same in the state folder and in MLflow; nothing is trained."""

import csv
import json
import math
import random
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flows import tracking
from flows.params import as_dict, load_params
from flows.project import Project

EPOCHS = 20
CACHE_KIB = 200_000
METRICS = ("train/loss", "validation/loss")  # as a run logs them
LATEST = "INSERT INTO latest_metrics (key, value, timestamp, step, is_nan, run_uuid) VALUES (?, ?, ?, ?, 0, ?)"
POINT = "INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES (?, ?, ?, ?, ?, 0)"


def fill(project: Project, runs: int, points: int) -> tuple[str, list[str]]:
    """Writes the runs; returns MLflow's experiment and the ids of the runs, newest first."""
    client = tracking.client(project)
    experiment = client.create_experiment("pages")
    params = as_dict(load_params(project.root / "params.yaml"))
    names: list[str] = []
    with sqlite3.connect(project.state / "mlflow.db") as store:
        store.execute("PRAGMA synchronous = OFF")
        store.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        for number in range(runs):
            asked = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(minutes=number)
            name = f"{asked:%Y%m%d-%H%M%S}-{number:06x}"
            record = client.create_run(experiment, run_name=name).info.run_id
            curve = losses(number, points)
            write_run(project.workspace(name), name, asked, params, curve, record)
            write_metrics(store, record, curve, asked)
            store.commit()
            client.set_terminated(record)
            names.insert(0, name)
    return experiment, names


def losses(seed: int, points: int) -> list[float]:
    noise = random.Random(seed)
    return [0.5 + math.exp(-4 * at / points) + noise.gauss(0, 0.05) for at in range(points)]


def write_run(
    folder: Path, name: str, asked: datetime, params: dict[str, Any], curve: list[float], record: str
) -> None:
    curves = folder / "artifacts" / "curves"
    curves.mkdir(parents=True)
    an_epoch = len(curve) // EPOCHS
    with (curves / "train.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["step", "epoch", "elapsed_s", "loss", "lr", "steps"])
        rows.writerows(
            [at + 1, at // an_epoch + 1, f"{0.1 * at:.1f}", f"{loss:.6f}", 0.0003, len(curve)]
            for at, loss in enumerate(curve)
        )
    with (curves / "validation.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["step", "epoch", "elapsed_s", "loss", "balanced_accuracy"])
        rows.writerows([an_epoch * n, n, an_epoch * n / 10, curve[an_epoch * n - 1], 0.6] for n in range(1, EPOCHS + 1))
    (folder / "run.json").write_text(json.dumps(run_record(name, asked, params, record)), encoding="utf-8")


def run_record(name: str, asked: datetime, params: dict[str, Any], record: str) -> dict[str, Any]:
    """As `run.json` of a finished run, in the fields that the page shows."""
    stages = {stage: {"state": "done", "elapsed_s": 1.0} for stage in ("preprocess", "train", "evaluate", "register")}
    result = {
        "samples": {"dataset": "bench", "simulated": True, "split": {"train": 180, "validation": 35}},
        "train": {"parameters": 3_689_253, "memory": {"predicted_bytes": 116_000_000, "measured_bytes": 116_500_000}},
        "evaluation": {
            "samples": 40,
            "balanced_accuracy": 0.6,
            "actions": ["hold", "buy", "sell"],
            "confusion": [[14, 6, 4], [0, 8, 0], [2, 0, 6]],
            "baselines": {},
        },
        "weights_sha256": name,
        "mlflow_run_id": record,
    }
    times = {"created_at": asked, "started_at": asked, "ended_at": asked + timedelta(minutes=17)}
    return {
        "run_id": name,
        "state": "done",
        "dataset_version": "0" * 32 + ".dir",
        "params": params | {"train": params["train"] | {"seed": int(name[-6:], 16)}},
        "stages": stages,
        "result": result,
        **{key: value.isoformat(timespec="milliseconds") for key, value in times.items()},
    }


def write_metrics(store: sqlite3.Connection, record: str, curve: list[float], asked: datetime) -> None:
    """Straight into the tables: through the client so many points would take most of an hour."""
    began_ms = round(asked.timestamp() * 1000)
    for key, stride in zip(METRICS, (1, len(curve) // EPOCHS), strict=True):
        steps = range(stride, len(curve) + 1, stride)
        store.executemany(POINT, [(key, curve[step - 1], began_ms + step, record, step) for step in steps])
        store.execute(LATEST, (key, curve[-1], began_ms + len(curve), len(curve), record))
