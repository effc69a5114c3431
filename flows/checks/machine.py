"""The machine: servers, room on the disk, the device that trains, and the versions of what is installed."""

import os
import re
from collections.abc import Iterator
from importlib import metadata

from flows import database, disk
from flows.checks.finding import Finding, broken, ok, warning
from flows.health import REMEDY, ask, services
from flows.params import Params, load_params
from flows.project import Project
from flows.workers import worker_service
from model.amount import amount

LOW_BYTES = 2**30  # with less, the next run is likely to be refused
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
COMPARED = ("dvc", "mlflow", "prefect", "streamlit", "torch")


def servers(project: Project) -> Iterator[Finding]:
    """Prefect and the worker are needed for the queue alone; MLflow keeps the promises about versions."""
    for service in [entry for entry in services() if entry.name != "MLflow"] + [worker_service(project)]:
        if service.up:
            yield ok("services", f"{service.name}: {service.detail}")
        else:
            remedy = f"{REMEDY}; `pivotline run` works without it"
            yield warning("services", f"{service.name} {service.detail}", remedy)
    from flows.tracking import answers, tracking_uri  # MLflow's library takes seconds

    uri = tracking_uri(project)
    if not answers(uri):
        text = f"MLflow does not answer at {uri}: whether versions and records are whole cannot be told"
        yield broken("services", text, f"{REMEDY}; runs go on without it, `pivotline sync` makes up for it")
    elif uri.startswith("http"):
        yield ok("services", f"MLflow: {ask('MLflow', uri, f'{uri}/health').detail}")
    else:
        yield ok("services", "MLflow: a file of this project, no server named")


def queue(project: Project) -> Iterator[Finding]:
    """The file in which Prefect keeps its queue, where it has one here."""
    what, _, remedy = database.damage(project).partition(": ")
    if what:
        yield broken("services", what, remedy)


def record_refused(project: Project, why: str) -> Iterator[Finding]:
    """MLflow answers, and its record cannot be read all the same: its database is damaged, or locked."""
    from flows.tracking import answers, tracking_uri

    if answers(tracking_uri(project)):
        remedy = "without its answer no promise about versions can be checked"
        yield broken("services", f"whether versions and records are whole cannot be told: {why}", remedy)


def room(project: Project) -> Iterator[Finding]:
    params = settings(project)
    found = disk.disk(project, params.prune.disk_budget_gb)
    used = f"{amount(found.used_bytes)} of {amount(found.budget_bytes)} used, {amount(found.free_bytes)} free"
    low = found.free_bytes < LOW_BYTES or found.used_bytes > found.budget_bytes
    yield warning("disk", used, "`pivotline prune` frees room") if low else ok("disk", used)
    if project.state.exists() and not os.access(project.state, os.W_OK):
        remedy = "make it writable, or set PIVOTLINE_STATE to a folder that is"
        yield broken("disk", f"{project.state} cannot be written to", remedy)


def settings(project: Project) -> Params:
    return load_params(project.root / "params.yaml")


def device(project: Project) -> Iterator[Finding]:
    from model.device import choose

    found = choose(settings(project).train.device)
    yield ok("device", f"{found.kind} ({found.name}): {found.why}")


def installed(project: Project) -> Iterator[Finding]:
    """What is installed, against the lock file of the project."""
    lock = project.root / "requirements.lock"
    pinned = dict(PINNED.findall(lock.read_text(encoding="utf-8"))) if lock.is_file() else {}
    versions = {name: metadata.version(name) for name in COMPARED}
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    apart = [
        f"{name} is {version}, locked is {pinned[name]}"
        for name, version in versions.items()
        if name in pinned and plain(version) != plain(pinned[name])
    ]
    if apart:
        yield warning("versions", "; ".join(apart), "install what requirements.lock names")
    else:
        yield ok("versions", told)


def plain(version: str) -> str:
    """Without the build, such as +cpu."""
    return version.partition("+")[0]
