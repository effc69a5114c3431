"""What a registered version says of itself: written as tags when it is made, read back for the page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from flows.reports import read_report
from model.content import sha256
from model.interval import balanced_accuracy_interval, chance

RUN_TAG, DATASET_TAG = "pivotline.run_id", "pivotline.dataset_version"
SIMULATED_TAG, SCORE = "pivotline.simulated", "balanced_accuracy"
KIND_TAG, PRESET_TAG, PARAMETERS_TAG = "pivotline.kind", "pivotline.preset", "pivotline.parameters"
INTERVAL_TAG, CHANCE_TAG, FILES_TAG = "pivotline.interval", "pivotline.chance", "pivotline.sha256"
WEIGHTS = "weights.safetensors"
FILES = (WEIGHTS, "config.json", "scaler.json")


class VersionLike(Protocol):
    """The part of MLflow's version that a view needs."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    @property
    def creation_timestamp(self) -> int: ...
    @property
    def tags(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionView:
    """One registered version; what it does not say of itself is None or empty."""

    version: int
    name: str
    aliases: tuple[str, ...]
    run_id: str
    created_at: str
    dataset_version: str
    simulated: bool
    kind: str
    preset: str
    score: float | None  # balanced accuracy on the test split
    interval: tuple[float, float] | None  # 95 %, of that score
    chance: float
    parameters: int | None
    weights_sha256: str
    reason: str  # why it last became champion
    status: str
    files: dict[str, str]  # sha256 of each file of the model
    model_id: str = ""  # of MLflow's logged model that it is made of


def tags(workspace: Path, record: Mapping[str, Any]) -> dict[str, str]:
    """A score that could not be computed is absent."""
    reports = {
        name: read_report(workspace / "artifacts" / f"{name}.json") for name in ("evaluation", "samples", "train")
    }
    table, train = np.array(reports["evaluation"]["confusion"]), reports["train"]
    files = {name: sha256(workspace / "artifacts" / "model" / name) for name in FILES}
    score, interval, blind = reports["evaluation"][SCORE], balanced_accuracy_interval(table), chance(table)
    said = {
        RUN_TAG: record["run_id"],
        DATASET_TAG: record["dataset_version"],
        SIMULATED_TAG: str(reports["samples"]["simulated"]).lower(),
        KIND_TAG: train["kind"],
        PRESET_TAG: train["preset"],
        PARAMETERS_TAG: str(train["parameters"]),
        FILES_TAG: json.dumps(files),
    }
    known = {SCORE: score, INTERVAL_TAG: interval, CHANCE_TAG: blind}
    return said | {name: json.dumps(value) for name, value in known.items() if value is not None}


def view(entry: VersionLike, aliases: Sequence[str], reason: str) -> VersionView:
    said = entry.tags
    interval, files = json.loads(said.get(INTERVAL_TAG, "null")), json.loads(said.get(FILES_TAG, "{}"))
    made = datetime.fromtimestamp(entry.creation_timestamp / 1000, UTC)
    return VersionView(
        version=int(entry.version),
        name=entry.name,
        aliases=tuple(aliases),
        run_id=said.get(RUN_TAG, ""),
        created_at=made.isoformat(timespec="milliseconds"),
        dataset_version=said.get(DATASET_TAG, ""),
        simulated=said.get(SIMULATED_TAG) == "true",
        kind=said.get(KIND_TAG, ""),
        preset=said.get(PRESET_TAG, ""),
        score=json.loads(said.get(SCORE, "null")),
        interval=(interval[0], interval[1]) if interval else None,
        chance=float(said.get(CHANCE_TAG, 1 / 3)),
        parameters=int(said[PARAMETERS_TAG]) if PARAMETERS_TAG in said else None,
        weights_sha256=files.get(WEIGHTS, ""),
        reason=reason,
        status=entry.status,
        files=files,
        model_id=str(entry.source).removeprefix("models:/"),
    )
