"""Checkpoints: each that is there is whole, what must be kept is there, and nothing half-made is left over."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from flows import leftovers, protection, runfile
from flows.checks.finding import Finding, broken, ok, unread
from flows.project import Project
from flows.reports import read_report
from model.content import sha256
from model.manifest import list_complete, list_faults

LEFTOVERS = (".data.import-*", ".data.restoring", "data/.*.partial")  # in the project
STALE_S = 3600.0


def checkpoints(project: Project) -> Iterator[Finding]:
    """Every folder that is listed as a checkpoint, hashed; in a run that lives, only whole ones count."""
    whole = 0
    for run_id in protection.run_ids(project):
        try:
            found = list_complete(project.workspace(run_id) / "checkpoints")
            whole += len(found)
            yield from of_run(project, run_id, {entry.step for entry in found})
        except OSError as error:
            yield unread(run_id, error)
    yield ok("checkpoints", f"{whole} whole, each byte hashed")


def of_run(project: Project, run_id: str, steps: set[int]) -> Iterator[Finding]:
    """What is wrong with the checkpoints of a run that does not live; `steps` are those of the whole ones."""
    if protection.in_use(project, run_id):
        return
    for fault in list_faults(project.workspace(run_id) / "checkpoints"):
        remedy = "resume uses the one before it; `pivotline prune` removes this one, or says why it stays"
        yield broken("checkpoints", f"run {run_id}: {fault}", remedy)
    record = record_of(project, run_id)
    if record and record["state"] == "done":
        yield from kept(project.workspace(run_id), record, steps)


def record_of(project: Project, run_id: str) -> dict[str, Any] | None:
    try:
        return runfile.read(project.workspace(run_id))
    except ValueError:
        return None  # said with the runs


def kept(workspace: Path, record: dict[str, Any], steps: set[int]) -> Iterator[Finding]:
    """Of a finished run: its model with the very bits, its best checkpoint and its last."""
    weights = workspace / "artifacts" / "model" / "weights.safetensors"
    wanted = (record.get("result") or {}).get("weights_sha256")
    if wanted and (not weights.is_file() or sha256(weights) != wanted):
        remedy = "`dvc checkout` in the run's folder brings it from the cache; a registered version keeps its own copy"
        yield broken("checkpoints", f"run {workspace.name}: its model is gone or changed", remedy)
    report = workspace / "artifacts" / "train.json"
    if not report.is_file() or record["stages"]["train"].get("state") == "cached":
        return  # a training that was restored from the cache leaves no checkpoints
    told = read_report(report)
    for name, step in (("best", told.get("best_step")), ("last", told.get("updates"))):
        if step is not None and step not in steps:
            remedy = "the model itself is kept; nothing else needs it"
            yield broken(
                "checkpoints", f"run {workspace.name}: its {name} checkpoint, of update {step}, is gone", remedy
            )


def stale(project: Project) -> Iterator[Finding]:
    """What interrupted work left, an hour after it was last touched."""
    found = [path for pattern in LEFTOVERS for path in project.root.glob(pattern)]
    found += [*project.root.glob(".dvc/cache/files/md5/*/.*"), *leftovers.found(project)]
    for run_id in protection.run_ids(project):
        with suppress(PermissionError):  # said with its checkpoints
            found += parts(project, run_id)
    old = [path for path in found if time.time() - path.lstat().st_mtime > STALE_S]
    for path in old:
        yield broken(
            "checkpoints", f"{path} is left over from work that was interrupted", "`pivotline prune`, or delete it"
        )
    if not old:
        yield ok("checkpoints", "no temporary file is stale")


def parts(project: Project, run_id: str) -> list[Path]:
    """What work that was interrupted may have left of a run, or all of one that was never made whole."""
    workspace = project.workspace(run_id)
    root = workspace / "checkpoints"
    found = [path for part in protection.PARTS for path in root.glob(f"{part}*")] if root.is_dir() else []
    found += [path for path in workspace.glob(".run.json.*") if path.suffix != ".lock"]
    unmade = record_of(project, run_id) is None and not (workspace / runfile.NAME).exists()
    return [*found, workspace] if unmade and not protection.has_trained(workspace) else found
