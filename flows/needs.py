"""Which objects of the DVC cache stay, and why: what any user of the cache, the project or MLflow needs."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from flows import cache_users, dvccache
from flows.library import remembered
from flows.project import Project
from flows.protection import known_ids

UNKNOWN = "it was in the cache before its users were noted"


@dataclass(frozen=True, kw_only=True, slots=True)
class Needs:
    """Why each object stays, by its digest, and sentences on why some or all of the cache stays."""

    why: dict[str, str]
    notes: tuple[str, ...] = ()


def needs(project: Project, trained_on: set[str] | None, going: Collection[object] = ()) -> Needs:
    """What stays. Where a user of the cache cannot be asked, that is all of it.

    `trained_on` are dataset versions that MLflow's runs and versions name, None when it does not answer; `going` is
    what leaves the workspaces first.
    """
    others, silent = cache_users.others(project)
    try:
        why = of_users([project, *others], going)
        named = of_projects([project, *others])
    except OSError as error:
        silent.append(f"nothing of the dataset cache goes: {error.filename} cannot be read ({error.strerror})")
    if silent:
        everything = (digest for digest, _ in dvccache.objects(project.cache))
        return Needs(why=dict.fromkeys(everything, "a run that may use it cannot be asked"), notes=tuple(silent))
    for digest in named or ():
        why.setdefault(digest, "a project names it, now or at a commit")
    add_datasets(project, why, trained_on if named is not None else None, shared=bool(others))
    return Needs(why=why, notes=add_unknown(project, why))


def of_users(users: list[Project], going: Collection[object]) -> dict[str, str]:
    """What the runs of every state folder have out of the cache, and what its `data/` held."""
    found: dict[str, str] = {}
    for user in users:
        for run_id in known_ids(user):
            workspace = user.workspace(run_id)
            workspace.stat()  # a link to a disk that is not there uses nobody knows what
            outputs = dvccache.workspace_outputs(workspace, going)
            for digest in dvccache.whole(users[0].cache, outputs):
                found.setdefault(digest, f"run {run_id} uses it" if user is users[0] else f"{user.state} uses it")
        for digest in dvccache.whole(users[0].cache, remembered(user)):
            found.setdefault(digest, "data/ held it and may hold it again")
    return found


def of_projects(users: list[Project]) -> set[str] | None:
    """What the checkouts name, now or at a commit; None where git does not tell of one."""
    found: set[str] = set()
    for root in {user.root for user in users}:
        named = dvccache.project_digests(root)
        if named is None:
            return None
        found |= dvccache.whole(users[0].cache, named)
    return found


def add_datasets(project: Project, why: dict[str, str], trained_on: set[str] | None, shared: bool) -> None:
    """The datasets that a run may have been trained on, as far as no remote folder has them."""
    for digest in unnamed_datasets(project, why):
        if trained_on is None:
            reason = "git or MLflow does not tell whether a run was trained on it"
        elif dvccache.held_elsewhere(project.root, project.cache, digest):
            continue
        elif digest in trained_on:
            reason = "a run was trained on it, and no remote folder has it"
        elif shared:
            reason = "another state folder may name it, and no remote folder has it"
        else:
            continue
        why |= dict.fromkeys(dvccache.whole(project.cache, [digest]), reason)


def unnamed_datasets(project: Project, why: dict[str, str]) -> Iterator[str]:
    for digest, _ in dvccache.objects(project.cache):
        if digest not in why and dvccache.is_dataset(project.cache, digest):
            yield digest


def add_unknown(project: Project, why: dict[str, str]) -> tuple[str, ...]:
    """What lay in the cache before its users left notes stays: nobody knows whose it is."""
    since = cache_users.since(project)
    old = [
        digest
        for digest, path in dvccache.objects(project.cache)
        if digest not in why and (since is None or path.lstat().st_mtime < since)
    ]
    for digest in old:
        for name in dvccache.whole(project.cache, [digest]):
            why.setdefault(name, UNKNOWN)
    if not old:
        return ()
    remedy = f"if no other state folder ever used it, write 0 into {cache_users.first(project)}"
    return (f"{len(old)} objects stay that lay in the dataset cache before its users were noted; {remedy}",)
