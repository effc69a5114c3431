"""Copies for reading, which are made again when they are asked for: fetched models and datasets beside `data/`.

They go once nobody has them open, unless they are the only ones left or what an alias serves while MLflow is down.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from filelock import FileLock

from dataset.history import stores
from dataset.versions import held
from flows import disk, leases, runfile
from flows.project import Project
from flows.verdict import Verdict, recent, verdict

REMADE = "it is made again when it is asked for"
MODEL = re.compile(rf"[0-9]{{1,9}}-(?:{runfile.RUN_ID.pattern})?")  # version and run, which others' versions lack
DATASET = re.compile(r"[0-9a-f]{32}")


def of_models(project: Project, aliased: Collection[tuple[str, int]] | None) -> Iterator[Verdict]:
    """Verdicts on fetched versions; `aliased` are those that an alias points to, None when MLflow does not answer."""
    for path in folders(project, "models/*/*", MODEL):
        name, number = path.parent.name, path.name.partition("-")[0]
        why = leases.holder(project, f"version:{name}-{number}")
        if aliased is None:
            why = why or "MLflow does not answer, so it may be the only one"
        elif (name, int(number)) in aliased:
            why = why or "an alias points to it: it serves while MLflow is down"
        why = why or ("it may be in use" if recent(path) else "")
        yield verdict(path, f"copy of version {number} of {name}", not why, why or REMADE)


def of_datasets(project: Project) -> Iterator[Verdict]:
    """Verdicts on datasets that were laid out for reading."""
    for path in folders(project, "datasets/*", DATASET):
        version = f"{path.name}.dir"
        why = leases.holder(project, f"dataset:{version}") or ("it may be in use" if recent(path) else "")
        if not why and not held(version, stores(project.root, project.cache)):
            why = "the cache does not have all of it"
        yield verdict(path, f"copy of dataset {path.name[:9]}", not why, why or REMADE)


def folders(project: Project, pattern: str, name: re.Pattern[str]) -> list[Path]:
    """Folders of ours by their exact names that really lie in the state folder."""
    found = (path for path in project.state.glob(pattern) if name.fullmatch(path.name))
    return sorted(path for path in found if disk.real_folder(project.state, path))


def remove(project: Project, path: Path, aliased: Collection[tuple[str, int]] | None) -> int | None:
    """Takes a copy away unless somebody has begun to use it; bytes freed, None when it stays."""
    models = path.parent.parent == project.state / "models"
    name = f"model-{path.parent.name}-{path.name.partition('-')[0]}" if models else "datasets"
    with FileLock(project.locks / f"{name}.lock"):
        verdicts = of_models(project, aliased) if models else of_datasets(project)
        goes = any(entry.path == path and entry.goes for entry in verdicts)
        return disk.remove(project, path) if goes else None
