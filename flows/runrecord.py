"""One run's record in MLflow, brought level with the run's own files: what is there already is never sent again.

A point is known by its update: MLflow is asked once which updates it has, so that an attempt that repeats some after a
crash, and a second sync, add nothing. A batch whose answer was lost may be sent again: equal points count once there.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock
from mlflow.entities import Metric, Param, Run
from mlflow.tracking import MlflowClient

from flows.curves import SPLITS
from flows.project import Project
from flows.tail import Tail
from flows.tracking import experiment_id, find_run
from flows.versionview import DATASET_TAG, RUN_TAG

BATCH = 1000  # metrics a call, the most that MLflow takes


def recording(project: Project, run_id: str) -> FileLock:
    """Held by whoever writes a run's record, so that two do not send the same points."""
    project.make_state()
    return FileLock(project.locks / f"{run_id}.record.lock")


class RunRecord:
    """A run's record, open for writing. The run's recording lock is held."""

    def __init__(self, tracking: MlflowClient, workspace: Path, record: dict[str, Any]) -> None:
        self.tracking, self.workspace, self.record = tracking, workspace, record
        self.tails = {split: Tail(workspace, split) for split in SPLITS}
        run = find_run(tracking, record["run_id"])
        self.sent = {split: last_step(tracking, run, split) for split in SPLITS}
        self.mlflow_run_id = str((run or self._create()).info.run_id)
        tracking.log_batch(self.mlflow_run_id, params=list(flat_params(record["params"])))

    def _create(self) -> Run:
        run_id, version = self.record["run_id"], self.record["dataset_version"]
        tags = {RUN_TAG: run_id, DATASET_TAG: version}
        return self.tracking.create_run(experiment_id(self.tracking), run_name=run_id, tags=tags)

    def running(self) -> None:
        """Shows a run that goes on after it had ended as running again."""
        if self.tracking.get_run(self.mlflow_run_id).info.status != "RUNNING":
            self.tracking.update_run(self.mlflow_run_id, status="RUNNING")

    def send_curves(self) -> int:
        """Sends the rows that MLflow lacks, whole rows at a time; how many points that were."""
        points = 0
        for split, tail in self.tails.items():
            fresh = [row for row in tail.rows() if int(row["step"]) > self.sent[split]]
            for batch in batches([list(as_metrics(split, row, self.record)) for row in fresh]):
                self.tracking.log_batch(self.mlflow_run_id, metrics=batch)
                self.sent[split] = batch[-1].step
                points += len(batch)
        return points

    def close(self, status: str, scores: dict[str, float], artifacts: list[Path]) -> None:
        """Sends what is left, scores and files, and ends the record as `status`; doing it twice changes nothing."""
        self.send_curves()
        stamp = int(self.record["started_ms"])  # the same each time, so that a score counts once
        self.tracking.log_batch(self.mlflow_run_id, [Metric(name, value, stamp, 0) for name, value in scores.items()])
        for path in artifacts:
            if path.exists():
                self.tracking.log_artifact(self.mlflow_run_id, str(path), "lineage")
        self.tracking.set_terminated(self.mlflow_run_id, status)


def last_step(tracking: MlflowClient, run: Run | None, split: str) -> int:
    """The newest update of a split that MLflow has, 0 before the first."""
    name = f"{split}/epoch"  # in every row, also where a loss could not be computed
    if run is None or name not in run.data.metrics:
        return 0
    return max(point.step for point in tracking.get_metric_history(run.info.run_id, name))


def batches(rows: list[list[Metric]]) -> Iterator[list[Metric]]:
    """Rows packed into calls; none is split, so that what MLflow has of a row is the whole row."""
    batch: list[Metric] = []
    for row in rows:
        if len(batch) + len(row) > BATCH:
            yield batch
            batch = []
        batch = batch + row
    if batch:
        yield batch


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
