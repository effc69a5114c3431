"""The registration of a run's model as a stage that can be killed: what `pivotline run` does after `evaluate`."""

import os
from pathlib import Path

from flows import runfile, tracking
from flows.project import Project
from flows.registry import register


def main() -> None:
    """Registers the model of the run in the current folder, which may have been tried before."""
    workspace = Path.cwd()
    project = Project(root=workspace, state=Path(os.environ["PIVOTLINE_STATE"]))
    record = runfile.read(workspace)
    assert record is not None
    client = tracking.client(project)
    run = tracking.find_run(client, record["run_id"])
    if run is None:
        experiment = client.get_experiment_by_name(tracking.EXPERIMENT)
        assert experiment is not None
        tags = {tracking.RUN_TAG: record["run_id"]}
        run = client.create_run(experiment.experiment_id, run_name=record["run_id"], tags=tags)
    register(project, client, run.info.run_id, workspace, record)
