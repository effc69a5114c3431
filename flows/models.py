"""Registered models for the page and the command line: list, promote, roll back, fetch.

MLflow's library is loaded only when it is asked, since that takes seconds; a server that is down is said within one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flows.addresses import mlflow_url
from flows.errors import ServiceDownError
from flows.health import REMEDY, ask
from flows.params import load_params
from flows.project import Project, find_project
from flows.versionview import VersionView

__all__ = ["VersionView", "earlier_champion", "model_folder", "promote", "roll_back", "versions"]

if TYPE_CHECKING:
    from flows.tracking import MlflowClient


def versions() -> list[VersionView]:
    """Versions of the project's registered model, newest first; none before the first is registered."""
    from flows import registry

    project = find_project()
    with asked(project) as tracking:
        return registry.views(tracking, model_name(project))


def promote(version: int, reason: str) -> str:
    """Makes a version the champion; returns what became of it.

    Raises ValueError for a version that is not there, for an empty reason, and to the loser of two changes at once.
    """
    from flows import aliases

    project = find_project()
    with asked(project) as tracking:
        name = model_name(project)
        return aliases.promote(project, tracking, name, version, reason, aliases.look(tracking, name)[0])


def roll_back(reason: str) -> str:
    """Makes the version champion that was it before; raises ValueError when there is none."""
    from flows import aliases

    project = find_project()
    with asked(project) as tracking:
        name = model_name(project)
        return aliases.roll_back(project, tracking, name, reason, aliases.look(tracking, name)[0])


def earlier_champion() -> int | None:
    """The version that `roll_back` would make champion; None when there is none."""
    from flows import aliases, history

    project = find_project()
    with asked(project) as tracking:
        try:
            seen, model = aliases.look(tracking, model_name(project))
        except ValueError:
            return None
        past = history.earlier(history.changes(model.tags, seen.champion), seen.champion)
        return next((version for version in past if not aliases.unready(tracking, model.name, version)), None)


def model_folder(version: int) -> Path:
    """A local folder with the version's weights.safetensors, config.json and scaler.json, fetched once.

    Raises ValueError when there is no such version or a file is not the one that was registered.
    """
    from flows import fetched

    project = find_project()
    name = model_name(project)
    try:
        with asked(project) as tracking:
            return fetched.folder(project, tracking, name, version)
    except ServiceDownError:
        if kept := fetched.kept(project, name, version):
            return kept
        raise


def model_name(project: Project) -> str:
    return load_params(project.root / "params.yaml").register.name


@contextmanager
def asked(project: Project) -> Iterator["MlflowClient"]:
    """A client of the record; raises ServiceDownError with the remedy when it does not answer."""
    url = mlflow_url(project)
    if url.startswith("http") and not (health := ask("MLflow", url, f"{url}/health")).up:
        raise ServiceDownError(f"MLflow {health.detail}; {REMEDY}")
    from flows import tracking

    try:
        yield tracking.client(project)
    except tracking.OUTAGE as error:
        reason = tracking.first_line(error)
        raise ServiceDownError(f"MLflow did not do it ({reason}); {remedy(project, reason)}") from error


def remedy(project: Project, reason: str) -> str:
    """What helps against a refusal of MLflow's: a server is started, a damaged file is put back."""
    from flows.tracking import DAMAGED

    if reason == DAMAGED:
        place = project.state / "mlflow.db"
        return f"put {place} back from a backup, or move it away: `pivotline sync --again` records all runs anew"
    return REMEDY if "not answer" in reason else "`pivotline doctor` tells what is not whole"
