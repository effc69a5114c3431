"""What may go and what stays, and why: the one place that decides it for a run's own end, the command and the page.

What stays: the best and the last checkpoints, whatever a live, queued or resumable run uses, what someone has a lease
on, every registered version and its run, every dataset version that anything names, and all that is younger than an
hour, since it may still be in the making. Links are never followed.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from flows import artifacts, disk, leases, runfile
from flows.life import death, is_held, newest
from flows.params import PruneConfig
from flows.project import Project
from flows.retained import of_checkpoints
from flows.verdict import Verdict, recent, verdict, young
from flows.versionview import RUN_TAG

RESUMABLE = ("failed", "crashed", "cancelled")
UNREAD = "folder that cannot be read"
PARTS = (".saving-", disk.REMOVING)  # beside checkpoints
REMADE = ("artifacts/samples.npz", "artifacts/episodes.npz")  # what preprocess makes again


class ModelLike(Protocol):
    """The part of MLflow's logged model that a verdict needs."""

    @property
    def model_id(self) -> str: ...
    @property
    def artifact_location(self) -> str: ...
    @property
    def creation_timestamp(self) -> int | None: ...
    @property
    def tags(self) -> Mapping[str, str]: ...


def run_ids(project: Project) -> list[str]:
    """Runs with a folder of their own; a link is nobody's run."""
    return [run_id for run_id in known_ids(project) if not project.workspace(run_id).is_symlink()]


def known_ids(project: Project) -> list[str]:
    """All run folders, linked ones too: what they use stays, though nothing of theirs goes.

    Raises OSError where `runs` is a link to a disk that is not there.
    """
    found = project.runs.iterdir() if project.runs.is_dir() or project.runs.is_symlink() else ()
    named = (path for path in found if runfile.RUN_ID.fullmatch(path.name))
    return sorted(path.name for path in named if path.is_dir() or path.is_symlink())


def in_use(project: Project, run_id: str, finishing: str | None = None) -> str:
    """Why nothing of a run may go now, empty when it has ended; `finishing` is the run that asks for itself."""
    if held := leases.holder(project, f"run:{run_id}"):
        return held
    try:
        record = runfile.read(project.workspace(run_id))
    except ValueError:
        return "its record cannot be read"
    if record is None:
        return "it is being made" if recent(project.workspace(run_id)) else ""
    if record["state"] == "queued":
        return "the run is queued"
    alive = record["state"] == "running" and death(project, run_id, newest(project, run_id)) is None
    return "the run is running" if run_id != finishing and (alive or is_held(project, run_id)) else ""


def has_trained(workspace: Path) -> bool:
    """Whether a folder without a record was a run once: one that was never made whole has no checkpoints."""
    return (workspace / "checkpoints").exists()


def ended(project: Project, run_id: str, finishing: str | None) -> str:
    """How a run ended: done, or a word for one that can go on; empty without a record."""
    record = runfile.read(project.workspace(run_id))
    if run_id == finishing or (record and record["state"] == "done"):
        return "done"
    return "" if record is None else "resumable"


def of_run(project: Project, run_id: str, policy: PruneConfig, finishing: str | None = None) -> list[Verdict]:
    """Verdicts on the checkpoints of a run, and on all of a workspace that never got a record.

    Where something of it cannot be read, another user's, nothing of it goes.
    """
    try:
        return list(judged(project, run_id, policy, finishing))
    except OSError as error:
        why = f"{error.filename} cannot be read ({error.strerror})"
        return [verdict(project.workspace(run_id), UNREAD, False, why, run_id)]


def judged(project: Project, run_id: str, policy: PruneConfig, finishing: str | None) -> Iterator[Verdict]:
    """The verdicts on what can be read. Raises OSError for the first thing that cannot."""
    workspace = project.workspace(run_id)
    if not disk.real_folder(project.state, workspace):
        return
    used = in_use(project, run_id, finishing)
    state = "" if used else ended(project, run_id, finishing)
    if not used and not state and has_trained(workspace):
        yield verdict(
            workspace, "unfinished workspace", False, "its record is gone, and its checkpoints are not", run_id
        )
        return
    if not used and not state:
        yield verdict(workspace, "unfinished workspace", True, "it was never made whole", run_id)
        return
    root = workspace / "checkpoints"
    if not disk.real_folder(project.state, root):
        return
    for path in sorted(root.iterdir()):
        if path.is_symlink():
            yield verdict(path, f"link {path.name}", not used, used or "a link is no checkpoint", run_id)
        elif path.name.startswith(PARTS):
            kept = used or ("it may be in the making" if recent(path) else "")
            yield verdict(path, f"part {path.name}", not kept, kept or "a save that was interrupted left it", run_id)
    yield from of_checkpoints(root, run_id, policy, used, state)


def of_remade(project: Project, policy: PruneConfig) -> Iterator[Verdict]:
    """Verdicts on what preprocess would make again, in runs that are done."""
    done = [run_id for run_id in run_ids(project) if not in_use(project, run_id) and ended(project, run_id, None)]
    newest = done[-policy.keep_last :]
    for run_id in done:
        why = "one of the last runs" if run_id in newest else ""
        why = why or ("" if ended(project, run_id, None) == "done" else "the run can go on")
        for name in REMADE:
            path = project.workspace(run_id) / name
            real = os.access(path, os.R_OK) and path.is_file() and not path.is_symlink()
            if real and disk.inside(project.state, path):
                yield verdict(path, path.name, not why, why or "preprocess makes it again", run_id)


def of_model(project: Project, model: ModelLike, referenced: Mapping[str, str]) -> Verdict:
    """The verdict on a logged model; `referenced` says by id which registered version needs it."""
    run_id = model.tags.get(RUN_TAG)
    fresh = young((model.creation_timestamp or 0) / 1000)
    why = referenced.get(model.model_id, "") or leases.holder(project, f"model:{model.model_id}")
    if not why and run_id in known_ids(project):
        why = in_use(project, str(run_id))
    why = why or ("it may be in the making" if fresh else "") or artifacts.elsewhere(project, model.artifact_location)
    path = artifacts.place(model.artifact_location)
    return verdict(path, f"model {model.model_id}", not why, why or "no version uses it", run_id)


def of_object(path: Path, digest: str, needed: Mapping[str, str]) -> Verdict:
    why = needed.get(digest, "") or ("it may be in the making" if recent(path) else "")
    return verdict(path, f"object {digest[:9]}", not why, why or "nothing names it")
