"""A run's record as a page reads it, again and again: cached by its file, and put together from what else is known
where that file is damaged.
"""

from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from dataset.versions import tracked_version
from flows import runfile
from flows.params import Params, as_dict, load_params

UNKNOWN = "unknown"
KEPT = 2000  # records in memory, some KiB each


def readable(workspace: Path) -> dict[str, Any] | None:
    """The run's record, read again only when its file is another; nobody writes to it.

    Where it is damaged, what else is known, shown as failed.
    """
    try:
        now = (workspace / runfile.NAME).stat()
    except FileNotFoundError:
        return None
    except OSError as error:  # a folder of another user's, a link to itself
        return salvaged(workspace, f"{workspace / runfile.NAME} cannot be read as a run's record: {error.strerror}")
    return _readable(workspace, (now.st_ino, now.st_mtime_ns, now.st_size))


@lru_cache(maxsize=KEPT)
def _readable(workspace: Path, mark: object) -> dict[str, Any] | None:
    try:
        found = runfile.read(workspace)
        if found and not {"kind", "preset"} <= found["params"].get("model", {}).keys():
            raise ValueError(f"{workspace / runfile.NAME} cannot be read as a run's record: no model in its params")
        return found
    except ValueError as error:
        return salvaged(workspace, str(error))


def salvaged(workspace: Path, message: str) -> dict[str, Any]:
    params, dataset_version = as_dict(Params()), UNKNOWN
    params["model"]["preset"] = UNKNOWN
    with suppress(ValueError, OSError):
        params = as_dict(load_params(workspace / "params.yaml"))
    with suppress(ValueError, OSError):
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
