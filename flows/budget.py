"""Room on the disk: a run that could not keep two checkpoints is refused before anything of it starts."""

from pathlib import Path

from flows import disk
from flows.errors import ResourceError
from flows.params import Params, model_config
from flows.project import Project
from model.amount import amount

CHECKPOINTS = 2  # the newest, and the one before it until the newest is whole
SPARE_BYTES = 32 * 2**20  # records, curves and logs of a run, and SQLite's own room
REMEDY = "nothing was started; `pivotline prune --dry-run` shows what could go"


def check(project: Project, params: Params) -> None:
    """Raises ResourceError with the free and the needed bytes when the run cannot fit."""
    needed = needed_bytes(params)
    free = disk.free_bytes(project)
    if free < needed:
        raise ResourceError(f"{sentence(needed)}, and the disk has {told(free)} free; {REMEDY}")
    found = disk.disk(project, params.prune.disk_budget_gb)
    left = found.budget_bytes - found.used_bytes
    if left < needed:
        used = f"prune.disk_budget_gb leaves {told(max(0, left))} of {told(found.budget_bytes)}"
        raise ResourceError(f"{sentence(needed)}, and {used}; {REMEDY}, or raise the budget")


def check_data(project: Project, folder: Path) -> None:
    """Raises ResourceError when a data folder does not fit twice: in the run's folder, and in the dataset cache."""
    if least_free(project) < twice(folder):
        raise ResourceError(f"{folder} {room_for(project, folder)}; {REMEDY}")


def room_for(project: Project, folder: Path) -> str:
    return f"needs {told(twice(folder))} in the run and the cache, and {told(least_free(project))} are free"


def twice(folder: Path) -> int:
    return 2 * sum(info.st_size for _, info in disk.entries(folder))


def least_free(project: Project) -> int:
    return min(disk.free_at(project.state), disk.free_at(project.cache))


def needed_bytes(params: Params) -> int:
    """Two checkpoints, the finished model and some room for the rest of the run."""
    from model.dqn_plan import checkpoint_bytes
    from model.dqn_presets import DqnConfig
    from model.size import size

    config = model_config(params)
    counted = size(config)
    one = checkpoint_bytes(config, params.dqn) if isinstance(config, DqnConfig) else counted.checkpoint_bytes
    return CHECKPOINTS * one + counted.fp32_bytes + SPARE_BYTES


def sentence(needed: int) -> str:
    return f"the run needs {told(needed)} for {CHECKPOINTS} checkpoints and its model"


def told(count: int) -> str:
    return f"{amount(count)} ({count:,} bytes)"
