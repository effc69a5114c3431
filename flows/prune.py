"""Pruning with a plan: what would go over run folders, MLflow and the DVC cache, why, and the bytes; then just that.

`protection` decides; at the moment of removal it is asked again, under the lock of whoever could start to use the
thing. Nothing is written but names in folders that are there, so it works on a full disk.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows import copies, disk, dvccache, leftovers, protection, runfile
from flows.needs import Needs, needs
from flows.params import PruneConfig
from flows.project import Project
from flows.verdict import Verdict
from model.manifest import OPTIMIZER

if TYPE_CHECKING:
    from flows.tracking import MlflowClient


@dataclass(frozen=True, kw_only=True, slots=True)
class PruneItem:
    """One thing that could go; `bytes` is what its going frees once the items before it are gone."""

    place: str  # run | mlflow | copy | leftover | dvc
    path: Path
    run_id: str | None
    name: str
    bytes: int
    goes: bool
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PrunePlan:
    """Everything that was looked at, what of it goes, and what that frees."""

    items: tuple[PruneItem, ...]
    free_bytes: int
    kept_bytes: int
    budget_bytes: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruned:
    """What a pruning did; the bytes are measured, not predicted."""

    removed: int
    kept: int
    freed_bytes: int
    notes: tuple[str, ...] = ()


def plan(project: Project, policy: PruneConfig, tracking: "MlflowClient | None") -> PrunePlan:
    """What could go, in the order in which it would; without MLflow, all that MLflow could say anything of stays."""
    judged: list[tuple[str, Verdict]] = []
    for run_id in protection.run_ids(project):
        judged += [("run", entry) for entry in protection.of_run(project, run_id, policy)]
    unread = {entry.run_id: entry.why for _, entry in judged if entry.name == protection.UNREAD}
    judged += [("run", entry) for entry in protection.of_remade(project, policy) if entry.run_id not in unread]
    if tracking is not None:
        from flows import remains

        judged += [("mlflow", entry) for entry in remains.verdicts(project, tracking)]
    judged += [
        ("copy", entry) for entry in (*copies.of_models(project, aliased(tracking)), *copies.of_datasets(project))
    ]
    judged += [("leftover", entry) for entry in leftovers.verdicts(project)]
    going = {entry.path for _, entry in judged if entry.goes}
    needed = of_cache(project, tracking, going)
    objects = dvccache.objects(project.cache)
    real = ((digest, path) for digest, path in objects if disk.inside(project.cache, path))
    judged += [("dvc", protection.of_object(path, digest, needed.why)) for digest, path in real]
    notes = () if tracking is not None else ("MLflow does not answer: its files and the datasets it may name stay",)
    linked = [path for name in ("runs", "models", "datasets") if (path := project.state / name).is_symlink()]
    links = [f"{path} is a link: nothing in it goes" for path in linked]
    links += [f"nothing of run {run_id} goes: {why}" for run_id, why in unread.items()]
    return weighed(judged, int(policy.disk_budget_gb * disk.GB), (*notes, *links, *needed.notes))


def aliased(tracking: "MlflowClient | None") -> set[tuple[str, int]] | None:
    if tracking is None:
        return None
    from flows import registry

    return registry.aliased(tracking)


def of_cache(project: Project, tracking: "MlflowClient | None", going: set[Path]) -> Needs:
    if tracking is None:
        return needs(project, None, going)
    from flows import remains

    return needs(project, remains.trained_on(tracking), going)


def weighed(judged: Iterable[tuple[str, Verdict]], budget_bytes: int, notes: tuple[str, ...]) -> PrunePlan:
    """Adds the bytes: of files whose last name goes with the item, or that it is the first to keep."""
    gone: Counter[tuple[int, int]] = Counter()
    kept: set[tuple[int, int]] = set()
    items = []
    for place, entry in judged:
        size = 0
        for _, info in disk.entries(entry.path):
            inode = (info.st_dev, info.st_ino)
            if entry.goes:
                gone[inode] += 1
                counts = gone[inode] == info.st_nlink
            else:
                counts = inode not in kept
                kept.add(inode)
            size += info.st_blocks * 512 if counts else 0
        items.append(
            PruneItem(
                place=place,
                path=entry.path,
                run_id=entry.run_id,
                name=entry.name,
                bytes=size,
                goes=entry.goes,
                why=entry.why if size or not entry.goes else f"{entry.why}; bytes shared",
            )
        )
    return PrunePlan(
        items=tuple(items),
        free_bytes=sum(item.bytes for item in items if item.goes),
        kept_bytes=sum(item.bytes for item in items if not item.goes),
        budget_bytes=budget_bytes,
        notes=notes,
    )


def apply(project: Project, policy: PruneConfig, tracking: "MlflowClient | None", planned: PrunePlan) -> Pruned:
    """Removes what goes, each after a last look; what something uses by now stays and is named."""
    freed, removed, notes = 0, 0, list(planned.notes)
    needed = of_cache(project, tracking, {item.path for item in planned.items if item.goes}).why
    for item in planned.items:
        if not item.goes:
            continue
        try:
            took = remove(project, policy, tracking, item, needed)
        except OSError as error:  # one that the disk refuses keeps the others from nothing
            notes.append(f"{item.name} stays: {error.strerror or error}")
            continue
        if took is None:
            notes.append(f"{item.name} stays: it is in use by now, or gone already")
        else:
            freed, removed = freed + took, removed + 1
    return Pruned(removed=removed, kept=len(planned.items) - removed, freed_bytes=freed, notes=tuple(notes))


def remove(
    project: Project, policy: PruneConfig, tracking: "MlflowClient | None", item: PruneItem, needed: dict[str, str]
) -> int | None:
    """Bytes freed, None when the item may not go any more."""
    if item.place == "run" and item.run_id is not None:
        with runfile.claimed(project, item.run_id):
            return take(project, item.path, of_run(project, item.run_id, policy))
    if item.place == "mlflow" and tracking is not None:
        from flows import remains

        return remains.remove(project, tracking, as_verdict(item))
    if item.place == "copy":
        return copies.remove(project, item.path, aliased(tracking))
    if item.place == "leftover":
        return take(project, item.path, leftovers.verdicts(project))
    digest = item.path.parent.name + item.path.name
    return take(project, item.path, [protection.of_object(item.path, digest, needed)]) if item.path.exists() else None


def of_run(project: Project, run_id: str, policy: PruneConfig) -> list[Verdict]:
    remade = [entry for entry in protection.of_remade(project, policy) if entry.run_id == run_id]
    return [*protection.of_run(project, run_id, policy), *remade]


def take(project: Project, path: Path, verdicts: Iterable[Verdict]) -> int | None:
    """Removes what the verdicts, of this moment, still let go."""
    if not any(entry.path == path and entry.goes for entry in verdicts):
        return None
    if path.name != OPTIMIZER:
        return disk.remove(project, path)
    disk.check(project, path)
    from model.retention import drop_optimizer

    freed = sum(info.st_blocks * 512 for _, info in disk.entries(path) if info.st_nlink == 1)
    drop_optimizer(path.parent)  # the manifest first, so that the checkpoint is whole at every moment
    return freed


def as_verdict(item: PruneItem) -> Verdict:
    return Verdict(path=item.path, name=item.name, goes=item.goes, why=item.why, run_id=item.run_id)


def prune_run(project: Project, run_id: str, policy: PruneConfig) -> Pruned:
    """A run's own last step: its checkpoints beyond the best and the last go."""
    found = protection.of_run(project, run_id, policy, finishing=run_id)
    planned = weighed([("run", entry) for entry in found], 0, ())
    freed = [take(project, item.path, found) or 0 for item in planned.items if item.goes]
    return Pruned(removed=len(freed), kept=len(found) - len(freed), freed_bytes=sum(freed))
