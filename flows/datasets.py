"""The dataset versions that a run can use: what `data/` holds now, and what earlier runs were trained on."""

from dataclasses import dataclass, field
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
    if (project.root / "data").is_dir():
        current = version(project.root / "data")
        found[current] = DatasetView(version=current, current=True)
    for pointer in sorted(project.runs.glob("*/data.dvc"), reverse=True):
        name = tracked_version(pointer)
        record = readable(pointer.parent) or {}
        facts = (record.get("result") or {}).get("samples") or {}
        if name not in found or (facts and not found[name].facts):
            found[name] = DatasetView(version=name, current=bool(name in found and found[name].current), facts=facts)
    return list(found.values())
