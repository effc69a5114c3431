"""A run workspace: everything a run reads, frozen when the run is asked for."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from dataset.versions import tracked_version, version
from flows import budget, cache_users, dvccache, runfile
from flows.datasets import used
from flows.errors import ResourceError
from flows.params import Params, as_dict, change, load_params, write_params
from flows.process import Process
from flows.project import Project
from flows.stages import STAGES, environment

DVC_CONFIG = """[core]
    no_scm = true
    analytics = false
[cache]
    dir = {cache}
    type = "reflink,hardlink,symlink,copy"
"""
BRING = "delete what is damaged, then `dvc fetch` or `dvc pull data` may bring it back"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


def create(
    project: Project,
    run_id: str,
    changes: dict[str, dict[str, Any]],
    data: Path | None = None,
    dataset_version: str | None = None,
    door: str = "here",
    fresh: bool = False,
) -> Path:
    """The workspace of `run_id`: made once, however often it is asked for.

    `door` is where it is to run: `here`, in the asking process, or in the `queue`. A `fresh` one trains even where the
    run cache knows the result.

    `changes` go on top of `params.yaml`; `data` is a data folder (the project's `data/` when None) or `dataset_version`
    one that an earlier run used. Raises ValueError for settings or a dataset that cannot be used, and leaves nothing
    behind then.
    """
    assert data is None or dataset_version is None, "a run has one dataset"
    workspace = project.workspace(runfile.check_run_id(run_id))
    with runfile.claimed(project, run_id):
        if runfile.read(workspace):
            return workspace
        if (workspace / "checkpoints").exists():
            raise ValueError(f"{workspace} has checkpoints and no {runfile.NAME}: nothing is put in their place")
        shutil.rmtree(workspace, ignore_errors=True)
        params = change(load_params(project.root / "params.yaml"), changes)
        budget.check(project, params)
        try:
            fill(project, workspace, params, data, dataset_version)
        except BaseException:  # also a signal leaves no half workspace
            shutil.rmtree(workspace, ignore_errors=True)
            raise
        runfile.write(workspace, first_record(run_id, params, workspace, door) | ({"fresh": True} if fresh else {}))
    return workspace


def first_record(run_id: str, params: Params, workspace: Path, door: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "state": "queued",
        "door": door,
        "asker": Process.this().as_dict() if door == "here" else None,
        "attempt": 1,
        "created_at": runfile.now(),
        "dataset_version": tracked_version(workspace / "data.dvc"),
        "params": as_dict(params),
        "stages": {name: {"state": "waiting"} for name in (*STAGES, "register", "prune")},
    }


def fill(project: Project, workspace: Path, params: Params, data: Path | None, dataset_version: str | None) -> None:
    cache_users.sign(project)
    (workspace / ".dvc").mkdir(parents=True)
    name_cache(project, workspace)
    for name in ("dvc.yaml", ".dvcignore"):
        shutil.copy2(project.root / name, workspace / name)
    for source in sources(project.root / "dvc.yaml"):
        copy_source(project.root / source, workspace / source)
    write_params(workspace / "params.yaml", params)
    freeze_data(project, workspace, data, dataset_version)


def name_cache(project: Project, workspace: Path) -> None:
    """Tells the workspace's DVC where the shared cache is, which moves with the checkout."""
    path, wanted = workspace / ".dvc" / "config", DVC_CONFIG.format(cache=project.cache)
    if not path.is_file() or path.read_text(encoding="utf-8") != wanted:
        path.write_text(wanted, encoding="utf-8")


def sources(pipeline: Path) -> list[str]:
    """The source folders and files that the stages depend on: dependencies in the packages that hold our code."""
    stages = yaml.safe_load(pipeline.read_text(encoding="utf-8"))["stages"]
    paths = {path for stage in stages.values() for path in stage["deps"]}
    return sorted(path for path in paths if path.split("/")[0] in ("dataset", "model", "flows"))


def copy_source(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    package = source.parent / "__init__.py"
    if package.is_file():  # else the copy would be no package, and imports would find the checkout's
        shutil.copy2(package, target.parent / "__init__.py")
    if source.is_dir():
        shutil.copytree(source, target, ignore=LEFT_OUT, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


def freeze_data(project: Project, workspace: Path, data: Path | None, dataset_version: str | None) -> None:
    """Puts the chosen dataset version into the workspace and, where it is new, into the shared cache."""
    pointer = pointer_of(project, dataset_version) if dataset_version else current_pointer(project, data)
    if pointer:
        shutil.copyfile(pointer, workspace / "data.dvc")
        wanted = tracked_version(pointer)
        trouble = dvccache.trouble(project.cache, wanted)  # DVC takes a read-only object at its word
        if not trouble and dvc(project, workspace, "checkout", "data.dvc"):
            return
        if dataset_version or "damaged" in trouble:
            raise ValueError(f"dataset version {wanted}: {trouble or 'not whole'} in the cache; {BRING}")
        (workspace / "data.dvc").unlink()
    folder = data or project.root / "data"
    budget.check_data(project, folder)
    shutil.copytree(folder, workspace / "data", dirs_exist_ok=True)
    if not dvc(project, workspace, "add", "data"):
        raise ResourceError(f"{folder} could not be put into the dataset cache: {budget.room_for(project, folder)}")


def ready(project: Project, workspace: Path) -> None:
    """Before an attempt: the data is what was frozen, the cache is where it is now, and no lock of an earlier
    attempt's DVC is left.

    Nobody but the process that runs the run works in its folder. Raises ValueError for data that has changed.
    """
    (workspace / ".dvc" / "tmp" / "rwlock").unlink(missing_ok=True)
    name_cache(project, workspace)
    frozen = tracked_version(workspace / "data.dvc")
    if (now := version(workspace / "data")) != frozen:
        raise ValueError(
            f"{workspace / 'data'} is dataset version {now[:12]}, expected {frozen[:12]} as the run was asked for: its "
            "files or the cache they are shared with were changed; `dvc fetch` and a new run may bring them back"
        )


def current_pointer(project: Project, data: Path | None) -> Path | None:
    """`data.dvc` when the folder holds just that version, else None. Raises ValueError when there is no data folder."""
    folder = data or project.root / "data"
    if not folder.is_dir():
        hint = (
            "run `dvc pull data` for the sample dataset, or `pivotline data import`"
            if data is None
            else "expected a data folder"
        )
        raise ValueError(f"{folder}: no such folder; {hint}")
    if not (folder / "dataset.json").is_file():
        raise ValueError(
            f"{folder}: dataset.json is missing; expected a data folder as `pivotline data import` makes it"
        )
    pointer = project.root / "data.dvc"
    if data is None and pointer.is_file() and tracked_version(pointer) == version(folder):
        return pointer
    return None


def pointer_of(project: Project, dataset_version: str) -> Path:
    """The `data.dvc` of a version: the project's, or one that an earlier run used."""
    own = project.root / "data.dvc"
    if own.is_file() and tracked_version(own).startswith(dataset_version):
        return own
    for workspace, name in used(project):
        if name.startswith(dataset_version):
            return workspace / "data.dvc"
    raise ValueError(f"dataset version {dataset_version}: not known to data.dvc or any run here")


def dvc(project: Project, workspace: Path, *arguments: str) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments, "--quiet"],
        cwd=workspace,
        env=environment(project),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0
