"""Maker of MLflow's file: made once a session, which takes seconds, and copied for each project."""

import os
import shutil
import sqlite3
import tempfile
from functools import cache
from pathlib import Path

from flows import tracking
from flows.project import Project


@cache
def template() -> Path:
    """A fresh file with our experiment."""
    root = Path(tempfile.mkdtemp(prefix="mlflow-"))
    project = Project(root=root, state=root / "state")
    tracking.client(project)
    os.environ.pop("MLFLOW_TRACKING_URI", None)  # MLflow names its file there, for this process and its children
    return project.state / "mlflow.db"


def give_record(project: Project) -> Project:
    """Puts a ready file into a project; no server may be named in the environment."""
    project.make_state()
    path = project.state / "mlflow.db"
    shutil.copyfile(template(), path)
    with sqlite3.connect(path) as file:
        place = (project.state / "mlartifacts").as_uri()
        file.execute("UPDATE experiments SET artifact_location = ? WHERE name = ?", (place, tracking.EXPERIMENT))
    file.close()
    return project
