"""Registered versions: one a run, from code and safetensors, with the aliases `candidate` and `champion`."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
from filelock import FileLock
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.models.model import ModelInfo
from mlflow.pyfunc import log_model
from mlflow.tracking import MlflowClient
from mlflow.types import ColSpec, Schema, TensorSpec

from flows.project import Project
from flows.reports import read_report
from flows.tracking import DATASET_TAG, RUN_TAG

SCORE = "balanced_accuracy"
SIMULATED_TAG = "pivotline.simulated"
REQUIREMENTS = ("torch", "safetensors", "numpy", "pandas", "mlflow")


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """A version in the registry and the aliases that point to it."""

    name: str
    version: int
    aliases: tuple[str, ...]
    champion: str  # why it is the champion or is not


def register(
    project: Project, tracking: MlflowClient, mlflow_run_id: str, workspace: Path, record: dict[str, Any]
) -> Registered:
    """Registers the run's model once: a second call finds the version by the run's tag.

    The alias `candidate` moves to it; `champion` too when there is none or `outranks` says so.
    """
    name, tags = record["params"]["register"]["name"], version_tags(workspace, record)
    with FileLock(project.locks / "registry.lock"):
        version = find_version(tracking, name, record["run_id"])
        if version is None:
            version = create_version(tracking, name, log_version(mlflow_run_id, workspace), tags)
        tracking.set_registered_model_alias(name, "candidate", str(version))
        reason = promote(tracking, name, version, tags)
        aliases = tuple(sorted(tracking.get_model_version(name, str(version)).aliases))
    return Registered(name=name, version=version, aliases=aliases, champion=reason)


def version_tags(workspace: Path, record: dict[str, Any]) -> dict[str, str]:
    """What a version says of itself; a score that could not be computed is absent."""
    score = read_report(workspace / "artifacts" / "evaluation.json")[SCORE]
    simulated = read_report(workspace / "artifacts" / "samples.json")["simulated"]
    tags = {RUN_TAG: record["run_id"], DATASET_TAG: record["dataset_version"], SIMULATED_TAG: str(simulated).lower()}
    return tags if score is None else tags | {SCORE: repr(score)}


def find_version(tracking: MlflowClient, name: str, run_id: str) -> int | None:
    found = tracking.search_model_versions(f"name = '{name}'")
    numbers = [int(version.version) for version in found if version.tags.get(RUN_TAG) == run_id]
    return min(numbers, default=None)


def create_version(tracking: MlflowClient, name: str, model: ModelInfo, tags: dict[str, str]) -> int:
    try:
        tracking.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    made = tracking.create_model_version(name, model.model_uri, model.run_id, tags=tags, model_id=model.model_id)
    return int(made.version)


def log_version(mlflow_run_id: str, workspace: Path) -> ModelInfo:
    """Puts weights, config, scaler and the code that reads them into the run."""
    model = workspace / "artifacts" / "model"
    with mlflow.start_run(run_id=mlflow_run_id):
        return log_model(
            name="model",
            python_model=str(Path(__file__).with_name("scorer.py")),
            artifacts={"model": str(model)},
            code_paths=[str(workspace / "dataset"), str(workspace / "model")],
            pip_requirements=[pinned(package) for package in REQUIREMENTS],
            signature=signature(workspace),
            input_example=example(workspace),
        )


def pinned(package: str) -> str:
    return f"{package}=={metadata.version(package).split('+')[0]}"


def example(workspace: Path) -> dict[str, np.ndarray]:
    """One unscaled sample of the test split, as a request to the served model holds it."""
    with np.load(workspace / "artifacts" / "example.npz", allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def signature(workspace: Path) -> ModelSignature:
    fields = example(workspace).items()
    specs: list[ColSpec | TensorSpec] = [
        TensorSpec(array.dtype, (-1, *array.shape[1:]), name) for name, array in fields
    ]
    return ModelSignature(inputs=Schema(specs))


def promote(tracking: MlflowClient, name: str, version: int, tags: Mapping[str, str]) -> str:
    """Moves `champion` to `version` when it may be; returns the reason in words."""
    try:
        champion = tracking.get_model_version_by_alias(name, "champion")
    except MlflowException:
        champion = None
    if champion and int(champion.version) == version:
        return "it is the champion already"
    better, reason = (
        outranks(tags, champion.tags, int(champion.version)) if champion else (True, "there was no champion")
    )
    if better:
        tracking.set_registered_model_alias(name, "champion", str(version))
    return reason


def outranks(tags: Mapping[str, str], held: Mapping[str, str], holder: int) -> tuple[bool, str]:
    """Whether a version comes before the champion: real data before simulated, then the better score."""
    simulated, holder_simulated = (entry.get(SIMULATED_TAG) == "true" for entry in (tags, held))
    if simulated != holder_simulated:
        return holder_simulated, f"version {holder} was trained on {'simulated' if holder_simulated else 'real'} data"
    if SCORE in tags and (SCORE not in held or float(tags[SCORE]) > float(held[SCORE])):
        return True, f"better than version {holder}"
    return False, f"not better than version {holder}"
