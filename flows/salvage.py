"""A run's record as far as it can be read: one damaged file hides no run, and no other one."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dataset.versions import tracked_version
from flows import runfile
from flows.params import Params, as_dict, load_params

UNKNOWN = "unknown"


def readable(workspace: Path) -> dict[str, Any] | None:
    """The run's record; where it is damaged, what else is known, shown as failed."""
    try:
        return runfile.read(workspace)
    except ValueError as error:
        return salvaged(workspace, str(error))


def salvaged(workspace: Path, message: str) -> dict[str, Any]:
    params, dataset_version = as_dict(Params()), UNKNOWN
    params["model"]["preset"] = UNKNOWN
    with suppress(ValueError):
        params = as_dict(load_params(workspace / "params.yaml"))
    with suppress(ValueError):
        dataset_version = tracked_version(workspace / "data.dvc")
    asked = datetime.strptime(workspace.name[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    return {
        "run_id": workspace.name,
        "state": "failed",
        "created_at": asked.isoformat(timespec="milliseconds"),
        "dataset_version": dataset_version,
        "params": params,
        "stages": {},
        "message": message,
    }
