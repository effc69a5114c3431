"""The run's model as MLflow keeps it: weights, config, scaler and the code that reads them, in one logged model."""

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

import mlflow
import numpy as np
from mlflow.entities import LoggedModel
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.pyfunc import log_model
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.tracking import MlflowClient
from mlflow.types import ColSpec, Schema, TensorSpec

from flows.tracking import experiment_id
from flows.versionview import FILES_TAG, RUN_TAG

REQUIREMENTS = ("torch", "safetensors", "numpy", "pandas", "mlflow")
INSIDE = "artifacts/model"  # where MLflow puts the folder that `log_version` names "model"


def ready_model(tracking: MlflowClient, mlflow_run_id: str, workspace: Path, run_id: str) -> LoggedModel:
    """The run's whole logged model: the one an interrupted registration left, else a new one.

    Halves are removed. The registry's lock is held, so that no half is another process's.
    """
    found = list(models_of(tracking, run_id))
    whole = next((model for model in found if model.status == "READY"), None)
    for model in found:
        if model is not whole:
            remove(tracking, model)
    return whole or tracking.get_logged_model(log_version(mlflow_run_id, workspace, run_id))


def models_of(tracking: MlflowClient, run_id: str | None = None) -> Iterator[LoggedModel]:
    """Logged models of one run, or of all runs."""
    wanted = f"tags.`{RUN_TAG}` = '{run_id}'" if run_id else None
    token = None
    while True:
        page = tracking.search_logged_models([experiment_id(tracking)], wanted, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def remove(tracking: MlflowClient, model: LoggedModel) -> None:
    """Takes a logged model's files away, then its entry: the other way round nobody would find the files again."""
    get_artifact_repository(model.artifact_location).delete_artifacts()
    tracking.delete_logged_model(model.model_id)


def download(tracking: MlflowClient, name: str, version: int, target: Path) -> None:
    """Puts the model's own files, without the code beside them, into a new folder `target`."""
    entry = tracking.get_model_version(name, str(version))
    source = location(tracking, entry)
    with TemporaryDirectory(dir=target.parent) as folder:
        found = get_artifact_repository(source).download_artifacts(INSIDE, folder)
        Path(found).rename(target)


def lost(tracking: MlflowClient, version: ModelVersion) -> list[str]:
    """The files that a version was registered with and MLflow has no more; of one registered elsewhere, none."""
    if not (files := json.loads(version.tags.get(FILES_TAG, "{}"))):
        return []
    try:
        listed = get_artifact_repository(location(tracking, version)).list_artifacts(INSIDE)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        listed = []  # its logged model was deleted
    return sorted(set(files) - {Path(entry.path).name for entry in listed})


def location(tracking: MlflowClient, version: ModelVersion) -> str:
    """Where a version's files are: it names its logged model, `models:/m-...`, and no more."""
    return str(tracking.get_logged_model(model_id(version)).artifact_location)


def model_id(version: ModelVersion) -> str:
    return str(version.source).removeprefix("models:/")


def log_version(mlflow_run_id: str, workspace: Path, run_id: str) -> str:
    """Puts weights, config, scaler and the code that reads them into the run; returns the logged model's id."""
    model = workspace / "artifacts" / "model"
    with mlflow.start_run(run_id=mlflow_run_id):
        made = log_model(
            name="model",
            python_model=str(Path(__file__).with_name("scorer.py")),
            artifacts={"model": str(model)},
            code_paths=[str(workspace / "dataset"), str(workspace / "model")],
            pip_requirements=[pinned(package) for package in REQUIREMENTS],
            signature=signature(workspace),
            input_example=example(workspace),
            tags={RUN_TAG: run_id},
        )
    return str(made.model_id)


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
