"""Registered versions: one a run, however often registering it was interrupted."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow.entities import LoggedModel
from mlflow.entities.model_registry import ModelVersion, RegisteredModel
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from flows import aliases, history, versionview
from flows.aliases import CANDIDATE
from flows.logged import model_id, ready_model
from flows.project import Project
from flows.versionview import RUN_TAG, VersionView


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
    """Registers the run's model once: a second call finds what the first one left, call by call.

    The alias `candidate` goes to the newest version; `champion` too when there is none or `outranks` says so.
    """
    name, tags = record["params"]["register"]["name"], versionview.tags(workspace, record)
    with aliases.lock(project):
        version = find_version(tracking, name, record["run_id"])
        if version is None:
            model = ready_model(tracking, mlflow_run_id, workspace, record["run_id"])
            version = create_version(tracking, name, model, tags)
        _, model_entry = aliases.look(tracking, name)
        if version > int(model_entry.aliases.get(CANDIDATE, 0)):
            tracking.set_registered_model_alias(name, CANDIDATE, str(version))
        reason = aliases.contend(tracking, name, version, tags)
        held = tuple(sorted(tracking.get_model_version(name, str(version)).aliases))
    return Registered(name=name, version=version, aliases=held, champion=reason)


def find_version(tracking: MlflowClient, name: str, run_id: str) -> int | None:
    numbers = [int(entry.version) for entry in every_version(tracking, name) if entry.tags.get(RUN_TAG) == run_id]
    return min(numbers, default=None)


def every_version(tracking: MlflowClient, name: str) -> list[ModelVersion]:
    """All versions of a name, without their aliases, page by page."""
    found: list[ModelVersion] = []
    token = None
    while True:
        page = tracking.search_model_versions(f"name = '{name}'", page_token=token)
        found += page
        token = page.token
        if not token:
            return found


def create_version(tracking: MlflowClient, name: str, model: LoggedModel, tags: dict[str, str]) -> int:
    """One call makes the version with all its tags, the run's among them: it is there and found again, or not there."""
    try:
        tracking.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    made = tracking.create_model_version(name, model.model_uri, model.source_run_id, tags=tags, model_id=model.model_id)
    return int(made.version)


def views(tracking: MlflowClient, name: str) -> list[VersionView]:
    """All versions of a name, newest first; none where nothing is registered."""
    try:
        seen, model = aliases.look(tracking, name)
    except ValueError:
        return []
    past = history.changes(model.tags, seen.champion)
    held: dict[int, list[str]] = {}
    for alias, version in sorted(model.aliases.items()):
        held.setdefault(int(version), []).append(alias)
    found = [
        versionview.view(entry, held.get(int(entry.version), []), history.last_reason(past, int(entry.version)))
        for entry in every_version(tracking, name)
    ]
    return sorted(found, key=lambda view: view.version, reverse=True)


def references(tracking: MlflowClient) -> dict[str, str]:
    """Every logged model that a registered version needs, and which version that is."""
    return {
        model_id(entry): f"version {entry.version} of {entry.name} is made of it" for entry in all_versions(tracking)
    }


def aliased(tracking: MlflowClient) -> set[tuple[str, int]]:
    """Name and number of every version that an alias points to."""
    return {(model.name, int(version)) for model in every_model(tracking) for version in model.aliases.values()}


def all_versions(tracking: MlflowClient) -> Iterator[ModelVersion]:
    """The versions of every model, read number by number and alias by alias, so that no index can hide one."""
    for model in every_model(tracking):
        newest = max((int(entry.version) for entry in model.latest_versions or ()), default=0)
        for number in sorted({*range(1, newest + 1), *(int(version) for version in model.aliases.values())}):
            if version := read_version(tracking, model.name, number):
                yield version


def every_model(tracking: MlflowClient) -> list[RegisteredModel]:
    found: list[RegisteredModel] = []
    token = None
    while True:
        page = tracking.search_registered_models(page_token=token)
        found += [tracking.get_registered_model(entry.name) for entry in page]
        token = page.token
        if not token:
            return found


def read_version(tracking: MlflowClient, name: str, number: int) -> ModelVersion | None:
    """None where the number was never given or its version was deleted."""
    try:
        return tracking.get_model_version(name, str(number))
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return None
