"""What MLflow keeps on its disk: logged models and files of deleted runs, and how to take them away.

MLflow's own clean-up leaves the logged models of deleted runs and checks no registry, so each is looked up here first.
"""

from collections.abc import Iterator

from mlflow.entities import Run, ViewType
from mlflow.store.artifact.artifact_repo import ArtifactRepository
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.tracking import MlflowClient

from flows import disk, logged, protection, registry
from flows.aliases import lock
from flows.artifacts import elsewhere, local, place
from flows.project import Project
from flows.tracking import OUTAGE, experiment_id, first_line
from flows.verdict import Verdict, verdict
from flows.versionview import DATASET_TAG


def verdicts(project: Project, tracking: MlflowClient) -> Iterator[Verdict]:
    """On every logged model of the record, and on the files of runs that were deleted in MLflow."""
    needed = registry.references(tracking)
    for model in logged.models_of(tracking):
        yield protection.of_model(project, model, needed)
    registered = {entry.run_id for entry in registry.all_versions(tracking)}
    for run in runs(tracking, ViewType.DELETED_ONLY):
        location = run.info.artifact_uri
        if run.info.run_id not in registered and size(location):
            why = elsewhere(project, location)
            name = f"files of run {run.info.run_id}"
            yield verdict(place(location), name, not why, why or "the run was deleted in MLflow")


def runs(tracking: MlflowClient, view: int) -> Iterator[Run]:
    token = None
    while True:
        page = tracking.search_runs([experiment_id(tracking)], run_view_type=view, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def trained_on(tracking: MlflowClient) -> set[str]:
    """Dataset versions that runs and registered versions name; those of deleted runs too."""
    found = {run.data.tags.get(DATASET_TAG, "") for run in runs(tracking, ViewType.ALL)}
    found |= {entry.tags.get(DATASET_TAG, "") for entry in registry.all_versions(tracking)}
    return found - {""}


def remove(project: Project, tracking: MlflowClient, item: Verdict) -> int | None:
    """Takes one thing away under the registry's lock; bytes freed, None when it may not go any more.

    Raises OSError when MLflow refuses.
    """
    try:
        return take(project, tracking, item)
    except OUTAGE as error:
        raise OSError(first_line(error)) from error


def take(project: Project, tracking: MlflowClient, item: Verdict) -> int | None:
    with lock(project):
        still = next((entry for entry in verdicts(project, tracking) if entry.name == item.name), None)
        if still is None or not still.goes:
            return None
        kind, _, name = item.name.rpartition(" ")
        if kind != "model":
            return clear(project, str(tracking.get_run(name).info.artifact_uri))
        model = tracking.get_logged_model(name)
        freed = clear(project, str(model.artifact_location))
        tracking.delete_logged_model(name)
        return freed


def clear(project: Project, location: str) -> int:
    """Deletes the files at a location of MLflow's; bytes freed."""
    folder = local(location)
    if folder is not None:
        return disk.remove(project, folder) if folder.exists() else 0
    before = size(location)
    get_artifact_repository(location).delete_artifacts()
    return before - size(location)


def size(location: str | None) -> int:
    """Bytes at a location: on this disk, else as the server lists them."""
    folder = local(str(location))
    if folder is not None:
        return sum(info.st_blocks * 512 for _, info in disk.entries(folder))
    return listed(get_artifact_repository(str(location)), None)


def listed(repository: ArtifactRepository, path: str | None) -> int:
    return sum(
        listed(repository, entry.path) if entry.is_dir else int(entry.file_size or 0)
        for entry in repository.list_artifacts(path)
    )
