"""The record in MLflow: versions have their files, aliases their versions, and no run knows less than MLflow does."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flows import protection, runfile
from flows.checks.finding import Finding, broken, ok, unread, warning
from flows.curves import SPLITS, read_curves
from flows.project import Project
from flows.versionview import VersionView
from model.content import sha256

AGAIN = "register its run again: delete the version and its model in MLflow, then `pivotline sync --again`"


def versions(project: Project, tracking: Any) -> Iterator[Finding]:
    """Every version of every model: its files, hashed against what was registered; one version a run."""
    from flows import registry

    count, runs = 0, Counter[str]()
    for model in registry.every_model(tracking):
        yield from aliases(tracking, model)
        for view in registry.views(tracking, model.name):
            count += 1
            runs[view.run_id] += bool(view.run_id)
            yield from files(tracking, view)
    for run_id, times in runs.items():
        if times > 1:
            remedy = "delete the later ones in MLflow"
            yield broken("record", f"run {run_id} is registered {times} times", remedy)
    yield ok("record", f"{count} registered versions looked at")


def aliases(tracking: Any, model: Any) -> Iterator[Finding]:
    from flows.aliases import unready

    for alias, version in model.aliases.items():
        if why := unready(tracking, model.name, int(version)):
            text = f"alias {alias} of {model.name} points to version {version}: {why}"
            yield broken("record", text, "`pivotline registry promote` another version")


def files(tracking: Any, view: VersionView) -> Iterator[Finding]:
    from flows.logged import download
    from flows.tracking import OUTAGE

    if not view.files:
        return  # registered elsewhere: nothing to compare with
    with TemporaryDirectory() as folder:
        target = Path(folder) / "model"
        try:
            download(tracking, view.name, view.version, target)
        except OUTAGE as error:
            first = str(error).splitlines()[0]
            yield broken("record", f"version {view.version} of {view.name} has lost its files ({first})", AGAIN)
            return
        wrong = [name for name, digest in view.files.items() if differs(target / name, digest)]
    if wrong:
        yield broken("record", f"version {view.version} of {view.name}: {', '.join(wrong)} changed", AGAIN)


def differs(path: Path, digest: str) -> bool:
    return not path.is_file() or sha256(path) != digest


def points(project: Project, tracking: Any) -> Iterator[Finding]:
    """Ended runs: MLflow has none of their points that they do not have themselves, and does not hold them for live.

    A run that ended early and went on may repeat updates that MLflow has already; only finished ones are compared.
    """
    from flows.runrecord import last_step
    from flows.tracking import find_run

    compared = 0
    for run_id in protection.run_ids(project):
        record = readable(project, run_id)
        if record is None or record["state"] not in runfile.ENDED or not record.get("recorded"):
            continue
        run = find_run(tracking, run_id)
        if run is not None and run.info.status in ("RUNNING", "SCHEDULED"):
            yield broken("record", f"run {run_id} has ended, and MLflow shows it as running", "`pivotline sync`")
        if record["state"] != "done" or run is None:
            continue
        compared += 1
        try:
            curves = read_curves(project.workspace(run_id))
        except PermissionError as error:
            yield unread(run_id, error)
            continue
        for split, rows in curves.items():
            last, known = int(rows[-1]["step"]) if rows else 0, last_step(tracking, run, split)
            if known != last:
                text = f"run {run_id}: its own {split} curve ends at update {last}, that in MLflow at {known}"
                yield broken("record", text, "`pivotline sync` sends what MLflow lacks")
    yield ok("record", f"{compared} finished runs and MLflow have the same {len(SPLITS)} curves")


def lost(project: Project, tracking: Any) -> Iterator[Finding]:
    """Runs that MLflow took once and has no more; people delete them too, so it is a warning."""
    from flows import sync

    if gone := [record["run_id"] for record in sync.lost(project, tracking)]:
        text = f"{len(gone)} recorded runs, or their versions, are not in MLflow any more, the oldest is {gone[0]}"
        yield warning("record", text, "where they were not deleted on purpose, `pivotline sync --again` records them")


def readable(project: Project, run_id: str) -> dict[str, Any] | None:
    try:
        return runfile.read(project.workspace(run_id))
    except ValueError:
        return None  # said with the runs
