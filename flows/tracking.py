"""The record of a run in MLflow: params, curves, scores and lineage.

MLflow being down costs the record, never the run.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlflow
from filelock import FileLock
from mlflow.entities import Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.tracking import MlflowClient

from flows.curves import read_curves
from flows.project import Project

EXPERIMENT = "pivotline"
RUN_TAG = "pivotline.run_id"
DATASET_TAG = "pivotline.dataset_version"
BATCH = 1000  # metrics a call, the most that MLflow takes
REASON_TAG = "pivotline.reason"
EVERY_S = 2.0
FLUSH_S = 10.0  # the longest a finished run waits for its last points
QUIET = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
OUTAGE = (MlflowException, OSError)


def tracking_uri(project: Project) -> str:
    """The server named by `MLFLOW_TRACKING_URI`, else the SQLite file in the state folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{project.state / 'mlflow.db'}"


def client(project: Project) -> MlflowClient:
    """A client of the record, whose database and experiment exist; raises MlflowException when it cannot be reached."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    for name in ("mlflow", "mlflow.store.db.utils", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    uri = tracking_uri(project)
    project.make_state()
    with FileLock(project.locks / "mlflow.lock"):  # two first opens at once break the SQLite file for good
        make_database(uri)
        mlflow.set_tracking_uri(uri)
        mlflow.set_registry_uri(uri)
        found = MlflowClient(tracking_uri=uri, registry_uri=uri)
        if found.get_experiment_by_name(EXPERIMENT) is None:
            found.create_experiment(EXPERIMENT, artifact_location=artifact_location(project, uri))
    return found


def make_database(uri: str) -> None:
    """Makes a SQLite file whole or not at all: one whose making was killed half-way stays broken for good."""
    path = Path(uri.removeprefix("sqlite:///"))
    if not uri.startswith("sqlite:///") or path.exists():
        return
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    made = SqlAlchemyStore(f"sqlite:///{part}", (path.parent / "mlartifacts").as_uri())
    made.engine.dispose()
    part.replace(path)


def artifact_location(project: Project, uri: str) -> str | None:
    """Absolute in the state folder for the embedded record; a remote server chooses its own."""
    if "127.0.0.1" not in uri and not uri.startswith("sqlite"):
        return None
    return (project.state / "mlartifacts").as_uri()


def find_run(tracking: MlflowClient, run_id: str) -> Run | None:
    experiment = tracking.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    found = tracking.search_runs([experiment.experiment_id], f"tags.`{RUN_TAG}` = '{run_id}'", max_results=1)
    return found[0] if found else None


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


class Recorder:
    """Copies one run into MLflow while it trains. After a failure it says so once and `offline` holds the reason."""

    def __init__(self, project: Project, workspace: Path, record: dict[str, Any], say: Callable[[str], None]) -> None:
        self.workspace, self.record, self.say = workspace, record, say
        self.offline: str | None = None
        self.mlflow_run_id: str | None = None
        self.tracking: MlflowClient | None = None
        self._sent: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, args=(project,), name="mlflow-curves", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self, status: str, scores: dict[str, float], artifacts: list[Path]) -> None:
        """Sends what is left within `FLUSH_S` seconds and ends the MLflow run as `status`."""
        self._stop.set()
        self._thread.join(FLUSH_S)
        if self._thread.is_alive():
            self._fail("it did not answer in time")
        if self.tracking is None or self.mlflow_run_id is None or self.offline:
            return
        with self._outages():
            self._send_curves()
            for name, value in scores.items():
                self.tracking.log_metric(self.mlflow_run_id, name, value)
            for path in artifacts:
                if path.exists():
                    self.tracking.log_artifact(self.mlflow_run_id, str(path), "lineage")
            self.tracking.set_terminated(self.mlflow_run_id, status)

    def _follow(self, project: Project) -> None:
        with self._outages():
            self.tracking = client(project)
            self.mlflow_run_id = self._open_run(self.tracking)
        while not self._stop.wait(EVERY_S) and not self.offline:
            with self._outages():
                self._send_curves()

    def _open_run(self, tracking: MlflowClient) -> str:
        run_id = self.record["run_id"]
        run = find_run(tracking, run_id)
        if run is None:
            experiment = tracking.get_experiment_by_name(EXPERIMENT)
            assert experiment is not None
            tags = {RUN_TAG: run_id, DATASET_TAG: self.record["dataset_version"]}
            run = tracking.create_run(experiment.experiment_id, run_name=run_id, tags=tags)
            tracking.log_batch(run.info.run_id, params=list(flat_params(self.record["params"])))
        else:
            tracking.update_run(run.info.run_id, status="RUNNING")
        return str(run.info.run_id)

    def _send_curves(self) -> None:
        assert self.tracking is not None
        assert self.mlflow_run_id is not None
        for split, rows in read_curves(self.workspace).items():
            metrics = [
                metric for row in rows[self._sent.get(split, 0) :] for metric in as_metrics(split, row, self.record)
            ]
            for start in range(0, len(metrics), BATCH):
                self.tracking.log_batch(self.mlflow_run_id, metrics=metrics[start : start + BATCH])
            self._sent[split] = len(rows)

    @contextmanager
    def _outages(self) -> Iterator[None]:
        try:
            yield
        except OUTAGE as error:
            self._fail((str(error).strip().splitlines() or [type(error).__name__])[0][:200])

    def _fail(self, reason: str) -> None:
        if self.offline is None:
            self.offline = reason
            self.say(
                f"MLflow does not take the record ({reason}); training goes on and curves are kept in {self.workspace}"
            )


def flat_params(sections: dict[str, dict[str, Any]]) -> Iterator[Param]:
    for section, values in sections.items():
        for key, value in values.items():
            yield Param(f"{section}.{key}", str(value))


def as_metrics(split: str, row: dict[str, str], record: dict[str, Any]) -> Iterator[Metric]:
    """One curve row as metrics `split/name` at its update; an empty field is a value that could not be computed."""
    step = int(row["step"])
    stamp = int(record["started_ms"] + 1000 * float(row.get("elapsed_s") or 0))
    for name, text in row.items():
        if name not in ("split", "step", "elapsed_s") and text:
            yield Metric(f"{split}/{name}", float(text), stamp, step)
