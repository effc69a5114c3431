"""Registered models on this machine: fetched from MLflow once, checked against their SHA-256 whenever they are used."""

import json
import shutil
from pathlib import Path

from filelock import FileLock
from mlflow.tracking import MlflowClient

from flows import aliases, leases, registry
from flows.logged import download
from flows.project import Project
from flows.versionview import FILES, VersionView
from model.content import sha256

SUMS = "sha256.json"


def folder(project: Project, tracking: MlflowClient, name: str, version: int) -> Path:
    """The version's local folder. Raises ValueError when there is no such version or its files are others."""
    view = next((entry for entry in registry.views(tracking, name) if entry.version == version), None)
    if view is None:
        raise ValueError(f"version {version} of {name}: not registered")
    target = home(project, name) / f"{version}-{view.run_id}"
    home(project, name).mkdir(parents=True, exist_ok=True)
    with FileLock(project.locks / f"model-{name}-{version}.lock"):
        leases.renew(project, f"version:{name}-{version}", leases.USED)
        return target if whole(target) else fetch(project, tracking, view, target)


def fetch(project: Project, tracking: MlflowClient, view: VersionView, target: Path) -> Path:
    """Downloads under a hidden name, checks every file, then gives the folder its name."""
    if why := aliases.unready(tracking, view.name, view.version):
        raise ValueError(f"version {view.version} of {view.name}: {why}")
    part = target.with_name(f".fetching-{target.name}")
    for stale in (part, target):
        shutil.rmtree(stale, ignore_errors=True)
    with leases.held(project, f"model:{view.model_id}", "it is being fetched"):
        download(tracking, view.name, view.version, part)
    found = {name: sha256(part / name) for name in FILES if (part / name).is_file()}
    wrong = [name for name in FILES if found.get(name) != view.files.get(name, found.get(name)) or name not in found]
    if wrong:
        shutil.rmtree(part)
        raise ValueError(
            f"version {view.version} of {view.name}: {', '.join(wrong)} in MLflow is not what was registered"
        )
    (part / SUMS).write_text(json.dumps(found), encoding="utf-8")
    return part.rename(target)


def whole(folder: Path) -> bool:
    """Whether a fetched folder still holds what was fetched."""
    if not (folder / SUMS).is_file():
        return False
    sums = json.loads((folder / SUMS).read_text(encoding="utf-8"))
    return all((folder / name).is_file() and sha256(folder / name) == sums.get(name) for name in FILES)


def kept(project: Project, name: str, version: int) -> Path | None:
    """A version fetched earlier, for when MLflow is down."""
    found = [path for path in home(project, name).glob(f"{version}-*") if whole(path)]
    leases.renew(project, f"version:{name}-{version}", leases.USED)
    return max(found, default=None)


def home(project: Project, name: str) -> Path:
    return project.state / "models" / name
