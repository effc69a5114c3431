"""The dataset cache: the versions that runs were trained on are there byte for byte, and no lock is left behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dataset.versions import tracked_version
from flows import dvccache, protection
from flows.checks.finding import Finding, broken, ok, unread, warning
from flows.process import start_of
from flows.project import Project
from model.content import object_in

POINTER = "data.dvc"
FETCH = "`dvc fetch` brings it back where a remote has it"


def objects(project: Project, deep: bool) -> Iterator[Finding]:
    """Objects whose content is not their name: of the current dataset, or of the whole cache when `deep`."""
    every = dict(dvccache.objects(project.cache))
    current = dvccache.whole(project.cache, dvccache.DIGEST.findall(dvccache.text(project.root / "data.dvc")))
    looked = set(every) if deep else current & set(every)
    for digest in sorted(looked):
        if dvccache.md5(every[digest]) != digest.removesuffix(".dir"):
            text = f"object {digest} of the dataset cache is damaged"
            yield broken("cache", text, f"delete {every[digest]}; {FETCH}")
    hint = "" if deep else "; --deep hashes all"
    yield ok("cache", f"{len(looked)} of {len(every)} objects hashed{hint}")


def datasets(project: Project) -> Iterator[Finding]:
    """Dataset versions of runs that cannot be restored any more, and runs that do not say which is theirs."""
    looked = {""}
    for run_id in protection.run_ids(project):
        pointer = project.workspace(run_id) / POINTER
        try:
            version = tracked_version(pointer) if pointer.exists() else ""
        except PermissionError as error:
            yield unread(run_id, error)
            continue
        except (ValueError, OSError) as error:
            text = f"run {run_id} cannot go on: {error}"
            yield broken("cache", text, f"copy {POINTER} of another run on its dataset version there")
            continue
        if version not in looked and (trouble := dvccache.trouble(project.cache, version)):
            text = f"dataset version {version[:12]}, of run {run_id}: {trouble} in the cache"
            yield broken("cache", text, FETCH)
        looked.add(version)
    own = project.root / POINTER
    if own.is_file() and not (project.root / "data").is_dir():
        yield warning("cache", "data/ is not here, only its version in data.dvc", "`dvc pull data`")


def locks(project: Project) -> Iterator[Finding]:
    """DVC's own locks in the checkout whose process is gone; those of a run's workspace go with its next attempt.

    Only a warning: the number may be that of a process in another container.
    """
    path = project.root / ".dvc" / "tmp" / "rwlock"
    for pid in holders(path):
        if not is_dvc(pid):
            yield warning("cache", f"{path} is held by process {pid}, which is gone", f"delete {path}")


def holders(path: Path) -> list[int]:
    """Process numbers in a lock file of DVC's."""
    try:
        return sorted(set(pids(object_in(path.read_bytes() or b"{}", path))))
    except (FileNotFoundError, ValueError):
        return []


def pids(found: Any) -> Iterator[int]:
    if isinstance(found, dict):
        if type(found.get("pid")) is int:
            yield found["pid"]
        for value in found.values():
            yield from pids(value)
    elif isinstance(found, list):
        for value in found:
            yield from pids(value)


def is_dvc(pid: int) -> bool:
    """Whether the number belongs to a process that is DVC: numbers are used again, in a new container at once."""
    if start_of(pid) is None:
        return False
    command = Path(f"/proc/{pid}/cmdline")
    return not command.exists() or b"dvc" in command.read_bytes()
