"""The alias `champion`: moved under the registry's lock, compared before it is set, its history kept."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from filelock import FileLock
from mlflow.entities.model_registry import RegisteredModel
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from flows import history, runfile
from flows.history import Change
from flows.logged import lost
from flows.project import Project
from flows.versionview import SCORE, SIMULATED_TAG

CHAMPION, CANDIDATE = "champion", "candidate"
REASON_CHARS = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What someone who asks for a change has seen: the champion and the number of the next change."""

    champion: int | None
    number: int


def lock(project: Project) -> FileLock:
    """Held by whoever registers, moves an alias or prunes; all of them share the state folder."""
    project.make_state()
    return FileLock(project.locks / "registry.lock")


def look(tracking: MlflowClient, name: str) -> tuple[Seen, RegisteredModel]:
    """Raises ValueError when no model of that name is registered."""
    try:
        model = tracking.get_registered_model(name)
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            raise ValueError(f"model {name}: nothing is registered under that name yet") from None
        raise
    held = model.aliases.get(CHAMPION)
    return Seen(champion=int(held) if held else None, number=history.next_number(model.tags)), model


def promote(project: Project, tracking: MlflowClient, name: str, version: int, reason: str, seen: Seen) -> str:
    """Makes a version the champion, unless someone moved the alias since `seen`.

    Raises ValueError for a version that is that `unready` refuses, for an empty reason, and to the loser of two.
    """
    wanted = Change(
        number=0, version=version, before=None, kind=history.PROMOTED, reason=checked(reason), at=runfile.now()
    )
    with lock(project):
        now = unmoved(tracking, name, seen)
        if now.champion == version:
            raise ValueError(f"version {version} is the champion already")
        move(tracking, name, replace(wanted, before=now.champion, number=now.number))
    return f"version {version} is the champion" + (f"; it was version {now.champion}" if now.champion else "")


def roll_back(project: Project, tracking: MlflowClient, name: str, reason: str, seen: Seen) -> str:
    """Makes the version champion that was it before, or the one before that where it is gone.

    Raises ValueError when there is none, for an empty reason, and to the loser of two changes at once.
    """
    wanted = Change(number=0, version=0, before=None, kind=history.BACK, reason=checked(reason), at=runfile.now())
    with lock(project):
        now = unmoved(tracking, name, seen)
        past = history.earlier(history.changes(look(tracking, name)[1].tags, now.champion), now.champion)
        version = next((entry for entry in past if not unready(tracking, name, entry)), None)
        if version is None:
            raise ValueError(f"model {name}: no earlier champion is left to go back to")
        move(tracking, name, replace(wanted, version=version, before=now.champion, number=now.number))
    return f"version {version} is the champion again; it was version {now.champion}"


def contend(tracking: MlflowClient, name: str, version: int, tags: Mapping[str, str]) -> str:
    """Makes a new version champion when it may be; returns the reason in words. The registry's lock is held."""
    seen, model = look(tracking, name)
    if seen.champion == version:
        return "it is the champion already"
    if history.last_reason(history.changes(model.tags, seen.champion), version):
        return f"it was the champion before version {seen.champion}"
    better, reason = True, "there was no champion"
    if seen.champion is not None:
        held = tracking.get_model_version(name, str(seen.champion))
        better, reason = outranks(tags, held.tags, seen.champion)
    if better:
        change = Change(
            number=seen.number,
            version=version,
            before=seen.champion,
            kind=history.PROMOTED,
            reason=reason,
            at=runfile.now(),
        )
        move(tracking, name, change)
    return reason


def move(tracking: MlflowClient, name: str, change: Change) -> None:
    """Writes the change down, then sets the alias; raises ValueError when the version cannot hold it."""
    if why := unready(tracking, name, change.version):
        raise ValueError(f"version {change.version} of {name}: {why}; the alias stays where it was")
    tracking.set_registered_model_tag(name, *change.tag())
    tracking.set_registered_model_alias(name, CHAMPION, str(change.version))


def unmoved(tracking: MlflowClient, name: str, seen: Seen) -> Seen:
    now, model = look(tracking, name)
    if now != seen:
        last = history.changes(model.tags, now.champion)
        why = f" ({last[-1].reason})" if last else ""
        raise ValueError(
            f"the champion of {name} changed to version {now.champion}{why} while you asked: nothing was done; "
            "look at the versions again"
        )
    return now


def unready(tracking: MlflowClient, name: str, version: int) -> str:
    """Why a version cannot be champion; empty where it can."""
    try:
        entry = tracking.get_model_version(name, str(version))
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return "not there"
    if entry.status != "READY":
        return "not ready in MLflow"
    return f"MLflow has lost its {', '.join(gone)}" if (gone := lost(tracking, entry)) else ""


def checked(reason: str) -> str:
    """Raises ValueError for a reason that says nothing or too much."""
    plain = " ".join(reason.split())
    if not 0 < len(plain) <= REASON_CHARS:
        raise ValueError(f"reason has {len(plain)} characters, expected 1 to {REASON_CHARS}: say why")
    return plain


def outranks(tags: Mapping[str, str], held: Mapping[str, str], holder: int) -> tuple[bool, str]:
    """Whether a version comes before the champion: real data before simulated, then the better score."""
    simulated, holder_simulated = (entry.get(SIMULATED_TAG) == "true" for entry in (tags, held))
    if simulated != holder_simulated:
        return holder_simulated, f"version {holder} was trained on {'simulated' if holder_simulated else 'real'} data"
    if SCORE in tags and (SCORE not in held or float(tags[SCORE]) > float(held[SCORE])):
        return True, f"better than version {holder}"
    return False, f"not better than version {holder}"
