"""The way to MLflow: its server or its file, the experiment, and the record of one run in it.

Whether a server answers at all is asked first and with a short limit: its client waits half a minute for a dead one.
"""

import logging
import os
from contextlib import nullcontext
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import mlflow
from filelock import FileLock
from mlflow.entities import Run, ViewType
from mlflow.exceptions import MlflowException
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.tracking import MlflowClient
from sqlalchemy.exc import SQLAlchemyError

from flows.addresses import mlflow_url
from flows.project import Project
from flows.relocation import relocate
from flows.versionview import RUN_TAG

EXPERIMENT = "pivotline"
ADDRESSES = ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI")
REASON_TAG = "pivotline.reason"
ANSWER_S = 2.0  # the longest a server that lives takes to say so
PROBE = "api/2.0/mlflow/experiments/get-by-name?experiment_name="  # reads its database, unlike /health
QUIET = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
OUTAGE = (MlflowException, SQLAlchemyError, OSError)  # a full disk comes as any of them


def tracking_uri(project: Project) -> str:
    """The server that we are told of, else the SQLite file in the state folder."""
    return mlflow_url(project) or file_uri(project)


def file_uri(project: Project) -> str:
    return f"sqlite:///{project.state / 'mlflow.db'}"


def client(project: Project, uri: str = "") -> MlflowClient:
    """A client of the record, whose database and experiment exist; raises one of OUTAGE when it cannot be reached."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # prints a traceback of what it raises
    uri = uri or tracking_uri(project)
    if not answers(uri):
        raise ConnectionError(f"MLflow does not answer at {uri}")
    project.make_state()
    # two first opens at once break the SQLite file for good; a server needs no lock, and a slow one must hold none
    with nullcontext() if uri.startswith("http") else FileLock(project.locks / "mlflow.lock"):
        make_database(project, uri)
        use(uri)
        found = MlflowClient(tracking_uri=uri, registry_uri=uri)
        if found.get_experiment_by_name(EXPERIMENT) is None:
            create_experiment(found, artifact_location(project, uri))
    return found


def use(uri: str) -> None:
    """Makes it MLflow's address in this process alone: MLflow tells children too, who would take it for their own."""
    told = {name: os.environ.get(name) for name in ADDRESSES}
    mlflow.set_tracking_uri(uri)
    mlflow.set_registry_uri(uri)
    for name, value in told.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def answers(uri: str) -> bool:
    """Whether a server answers within `ANSWER_S`, its database included; a file always does."""
    if not uri.startswith("http"):
        return True
    try:
        with urlopen(f"{uri.rstrip('/')}/{PROBE}{EXPERIMENT}", timeout=ANSWER_S):
            return True
    except HTTPError as error:
        return error.code < 500
    except (URLError, OSError, ValueError):
        return False


def create_experiment(tracking: MlflowClient, location: str | None) -> None:
    try:
        tracking.create_experiment(EXPERIMENT, artifact_location=location)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":  # another process was first
            raise


def make_database(project: Project, uri: str) -> None:
    """Makes a SQLite file whole or not at all: one whose making was killed half-way stays broken for good.

    One that is there has to be usable, and learns where the state folder is now.
    """
    path = Path(uri.removeprefix("sqlite:///"))
    if not uri.startswith("sqlite:///"):
        return
    if path.exists():
        usable(path)
        return relocate(path, EXPERIMENT, str(artifact_location(project, uri)))
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    made = SqlAlchemyStore(f"sqlite:///{part}", (path.parent / "mlartifacts").as_uri())
    made.engine.dispose()
    part.replace(path)


def usable(path: Path) -> None:
    """Raises OSError for what is no file of ours; MLflow itself would try for minutes."""
    if not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
        raise OSError(f"{path} is no file that can be read and written")


def artifact_location(project: Project, uri: str) -> str | None:
    """Absolute in the state folder for the embedded record; a remote server chooses its own."""
    if "127.0.0.1" not in uri and not uri.startswith("sqlite"):
        return None
    return (project.state / "mlartifacts").as_uri()


def experiment_id(tracking: MlflowClient) -> str:
    """The experiment that `client` has made sure of."""
    experiment = tracking.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    return str(experiment.experiment_id)


def find_run(tracking: MlflowClient, run_id: str) -> Run | None:
    found = tracking.search_runs([experiment_id(tracking)], f"tags.`{RUN_TAG}` = '{run_id}'", max_results=1)
    return found[0] if found else None


def known_runs(tracking: MlflowClient) -> set[str]:
    """Our ids of all runs that MLflow has, those that were deleted in it too."""
    found: set[str] = set()
    token = None
    while True:
        page = tracking.search_runs([experiment_id(tracking)], run_view_type=ViewType.ALL, page_token=token)
        found |= {run.data.tags.get(RUN_TAG, "") for run in page}
        token = page.token
        if not token:
            return found


def is_of_one_run(error: Exception) -> bool:
    """Whether MLflow refuses what one run says, and would take another's."""
    return isinstance(error, MlflowException) and error.error_code == "INVALID_PARAMETER_VALUE"


def close_run(project: Project, run_id: str, status: str, reason: str) -> bool:
    """Ends the record of a run whose process could not do it itself; False when there is none.

    Raises one of OUTAGE when MLflow cannot be reached.
    """
    tracking = client(project)
    run = find_run(tracking, run_id)
    if run is None:
        return False
    tracking.set_tag(run.info.run_id, REASON_TAG, reason[:500])
    tracking.set_terminated(run.info.run_id, status)
    return True


DAMAGED = "its database is damaged"
# What MLflow's own error says, and what that means; the first that fits.
MEANINGS = (
    ("max retries exceeded", "it does not answer"),
    ("connection refused", "it does not answer"),
    ("timed out", "it does not answer"),
    ("database or disk is full", "its disk is full"),
    ("database is locked", "its database is locked by another process"),
    ("disk image is malformed", DAMAGED),
    ("file is not a database", DAMAGED),
)


def first_line(error: BaseException) -> str:
    """Why MLflow did not do something, without the words of the libraries below it where the cause is known."""
    said = str(error).strip()
    for sign, meaning in MEANINGS:
        if sign in said.lower():
            return meaning
    return (said.splitlines() or [type(error).__name__])[0][:200]
