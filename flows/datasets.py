"""The dataset versions that a run can use: what `data/` holds now, and what earlier runs were trained on."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from dataset.versions import tracked_version, version
from flows.project import Project
from flows.salvage import readable


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetView:
    """A dataset version that a run can use."""

    version: str
    current: bool
    facts: dict[str, Any] = field(default_factory=dict)


def datasets(project: Project) -> list[DatasetView]:
    """The version in `data/` first, then those that earlier runs used, newest first."""
    found: dict[str, DatasetView] = {}
    if now := current(project):
        found[now] = DatasetView(version=now, current=True)
    for workspace, name in used(project):
        record = readable(workspace) or {}
        facts = (record.get("result") or {}).get("samples") or {}
        if name not in found or (facts and not found[name].facts):
            found[name] = DatasetView(version=name, current=bool(name in found and found[name].current), facts=facts)
    return list(found.values())


def used(project: Project) -> Iterator[tuple[Path, str]]:
    """Each run's folder and its dataset version, newest first; a run that names none that can be read is passed over,
    which the doctor says.
    """
    for pointer in sorted(project.runs.glob("*/data.dvc"), reverse=True):
        with suppress(ValueError, OSError):
            yield pointer.parent, tracked_version(pointer)


def current(project: Project) -> str | None:
    """The version of `data/`, None where there is no data; read again only when one of its files is another."""
    folder = project.root / "data"
    found = [(path, path.stat()) for path in sorted(folder.rglob("*")) if path.is_file()]
    return _version(folder, tuple((path, stat.st_ino, stat.st_mtime_ns, stat.st_size) for path, stat in found))


@lru_cache(maxsize=4)
def _version(folder: Path, marks: tuple[object, ...]) -> str | None:
    return version(folder) if marks else None


def newer_data(dataset_version: str, now: str | None) -> str | None:
    """What to say of a run where `data/` holds another version now; None where it does not."""
    if now is None or now == dataset_version:
        return None
    return f"newer data exists: data/ holds dataset version {now[:7]} now, and this run keeps to {dataset_version[:7]}"
