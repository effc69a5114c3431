"""Makers of what the server tells the page: runs in any state, services up or down."""

from dataclasses import replace
from typing import Any

from checkout import shipped

from app import backend
from app.plans import Ask
from dataset.config import PreprocessConfig
from flows.control import DatasetView, Service
from flows.params import as_dict
from flows.runview import RunView
from model.kinds import preset
from model.plan import Plan
from model.verdict import Verdict

VERSION = "0123456789abcdef0123456789abcdef.dir"
PREFECT = "http://127.0.0.1:4200/api"
STAGES = ("preprocess", "train", "evaluate", "register")


def service(name: str = "Prefect", url: str = PREFECT, up: bool = True) -> Service:
    return Service(name=name, url=url, up=up, detail="answers" if up else f"does not answer at {url}")


def dataset(version: str = VERSION, **facts: Any) -> DatasetView:
    return DatasetView(version=version, current=True, facts=facts)


def plan_of(batch: int = 5, mib: int = 100) -> Plan:
    """A plan whose parts add up to so many MiB."""
    return Plan(
        config=preset("transformer", "base"),
        batch=batch,
        precision="fp32",
        checkpointing=True,
        samples=None,
        weights=0,
        gradients=0,
        optimizer_state=0,
        inputs=0,
        activations=mib * 2**20,
        transient=0,
        validation_bytes=0,
    )


class Planner:
    """Knows every plan at once."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self.mib = 100

    def look(self, ask: Ask) -> Plan:
        self.asked.append(ask)
        return replace(plan_of(ask.batch, self.mib), config=ask.config)

    def count(self, version: str, preprocess: PreprocessConfig) -> tuple[int, int] | None:
        return backend.count_samples(version, preprocess)

    def judge(self, planned: Plan, device_bytes: int) -> Verdict:
        return Verdict(
            word="does not fit",
            needed_bytes=planned.predicted_bytes,
            device_bytes=device_bytes,
            largest_batch=2,
            switch="precision bf16",
        )


def run_view(number: int, state: str, **more: Any) -> RunView:
    """Run `number` of a day; a later number was asked for later."""
    plain = RunView(
        run_id=f"20261130-07{number:02d}00-{number:06x}",
        state=state,
        dataset_version=VERSION,
        created_at=f"2026-11-30T07:{number:02d}:00.000+00:00",
        params=as_dict(shipped()),
        stages=tuple((name, "waiting", "") for name in STAGES),
    )
    return replace(plain, **more)


def done_view(number: int, dataset_name: str = "Simulated market") -> RunView:
    stages = tuple((name, "done", "3.2 s") for name in STAGES)
    times = {"started_at": "2026-11-30T07:10:00+00:00", "ended_at": "2026-11-30T07:13:00+00:00"}
    return run_view(number, "done", stages=stages, result=result(dataset_name), **times)


def result(dataset_name: str) -> dict[str, Any]:
    rules = {"majority": 1 / 3, "prior": None, "position": 0.45}
    return {
        "samples": {
            "dataset": dataset_name,
            "simulated": True,
            "version": VERSION,
            "trades": ["T-01"] * 51,
            "samples": 255,
            "split": {"train": 180, "validation": 35, "test": 40, "purged": 0},
        },
        "train": {
            "kind": "transformer",
            "preset": "lite",
            "parameters": 3_689_253,
            "updates": 72,
            "epochs_run": 2,
            "best_epoch": 2,
            "device": "AVX512",
            "device_reason": "cuda and mps not found",
            "checkpoint_bytes": 44_340_236,
            "memory": {"kind": "cpu", "predicted_bytes": 112_000_000, "measured_bytes": 112_501_168, "error": -0.004},
            "updates_per_epoch": 36,
        },
        "evaluation": {
            "samples": 40,
            "balanced_accuracy": 0.8125,
            "actions": ["hold", "buy", "sell"],
            "baselines": {name: {"balanced_accuracy": share} for name, share in rules.items()},
        },
        "weights_sha256": "ab" * 32,
        "weights_bytes": 14_757_012,
        "registered": {"name": "pivotline", "version": 3, "aliases": ["candidate"], "champion": "kept"},
        "mlflow_run_id": "1",
    }
