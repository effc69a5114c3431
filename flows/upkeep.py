"""Keeping the disk in order, for the page and the command line: what it holds, what could go, and taking that away."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from flows import disk as disks
from flows import leases
from flows import prune as pruning
from flows.disk import Disk
from flows.errors import ServiceDownError
from flows.models import asked
from flows.params import PruneConfig, load_params
from flows.project import Project, find_project
from flows.prune import Pruned, PruneItem, PrunePlan
from flows.versionview import VersionView

if TYPE_CHECKING:
    from flows.tracking import MlflowClient

__all__ = ["Disk", "PruneItem", "PrunePlan", "Pruned", "disk", "hold", "prune", "prune_plan"]


def prune_plan() -> PrunePlan:
    """What could go over run folders, MLflow and the DVC cache; with MLflow down, less goes and the notes say so."""
    project = find_project()
    with record_or_none(project) as tracking:
        return pruning.plan(project, policy(project), tracking)


def prune(plan: PrunePlan) -> Pruned:
    """Takes away what goes in `plan`, each after a last look at what protects it."""
    project = find_project()
    with record_or_none(project) as tracking:
        return pruning.apply(project, policy(project), tracking, plan)


def disk() -> Disk:
    """Bytes by kind, the budget for them and what the file system has left."""
    project = find_project()
    return disks.disk(project, policy(project).disk_budget_gb)


def hold(runs: Iterable[str] = (), versions: Iterable[VersionView] = (), datasets: Iterable[str] = ()) -> None:
    """Says that a page shows these: for ten minutes, renewed whenever it is said again, nothing of them is pruned."""
    project = find_project()
    if not project.state.is_dir():
        return  # there is nothing to protect yet
    subjects = [f"run:{run_id}" for run_id in runs] + [f"dataset:{version}" for version in datasets]
    for view in versions:
        subjects += [f"model:{view.model_id}", f"version:{view.name}-{view.version}"]
    for subject in subjects:
        leases.renew(project, subject, leases.OPEN)


def policy(project: Project) -> PruneConfig:
    return load_params(project.root / "params.yaml").prune


@contextmanager
def record_or_none(project: Project) -> Iterator["MlflowClient | None"]:
    """The record's client, None when it does not answer."""
    opened = asked(project)
    tracking = None
    with suppress(ServiceDownError):
        tracking = opened.__enter__()
    try:
        yield tracking
    finally:
        if tracking is not None:
            opened.__exit__(None, None, None)
