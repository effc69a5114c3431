"""The doctor: whether every promise holds now, thing by thing, and what to do where one does not. Changes nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from flows.checks import cache, checkpoints, machine, record, runs
from flows.checks.finding import BROKEN, OK, Finding, broken
from flows.errors import INTERNAL, RESOURCES, SERVICE_DOWN, ServiceDownError
from flows.models import asked
from flows.project import Project, find_project

__all__ = ["Finding", "Report", "doctor"]

CODES = {"services": SERVICE_DOWN, "disk": RESOURCES}


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """All findings; `healthy` when nothing is broken."""

    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        return not any(entry.level == BROKEN for entry in self.findings)

    @property
    def code(self) -> int:
        """0 only if all promises hold; else by the class of what does not."""
        classes = {CODES.get(entry.area, INTERNAL) for entry in self.findings if entry.level == BROKEN}
        return max(classes, default=0)


def doctor(deep: bool = False) -> Report:
    """Looks at everything; `deep` hashes the whole dataset cache too."""
    return examine(find_project(), deep)


def examine(project: Project, deep: bool = False) -> Report:
    found = [entry for look in looks(project, deep) for entry in attempted(look)]
    found += list(of_record(project))
    order = {BROKEN: 0, OK: 2}
    return Report(findings=tuple(sorted(found, key=lambda entry: order.get(entry.level, 1))))


def looks(project: Project, deep: bool) -> list[Callable[[], Iterator[Finding]]]:
    plain = (
        machine.servers, machine.queue, machine.room, machine.device, machine.installed,
        checkpoints.checkpoints, checkpoints.stale,
        runs.runs, runs.ledger, runs.unsynced,
        cache.datasets, cache.locks,
    )  # fmt: skip
    return [*(partial(look, project) for look in plain), partial(cache.objects, project, deep)]


def attempted(look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """What a look finds; one that cannot read what it looks at says so, and the others go on."""
    try:
        return list(look())
    except (OSError, ValueError) as error:
        return [broken("disk" if isinstance(error, OSError) else "runs", str(error), "make it readable")]


def of_record(project: Project) -> list[Finding]:
    """What MLflow has; a server that does not answer is said with the services, any other refusal here."""
    try:
        with asked(project) as tracking:
            looks = (record.versions, record.points, record.lost)
            return [finding for look in looks for finding in look(project, tracking)]
    except ServiceDownError as error:
        return list(machine.record_refused(project, str(error)))
