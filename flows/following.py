"""What runs are and do, read from their workspaces; Prefect adds only the places in its queue."""

from flows import queue, runfile, runview
from flows.curves import JOURNAL, predicted_bytes, read_curves, read_memory
from flows.project import find_project
from flows.runview import RunView
from flows.stages import NOISE


def runs(limit: int = 50) -> list[RunView]:
    """The newest runs first, with the queue's places; from the state folder alone when Prefect is down."""
    return runview.collect(find_project(), queue.flow_runs, limit)


def run(run_id: str) -> RunView:
    """One run. Raises ValueError when it is not known."""
    runfile.check_run_id(run_id)
    found = runview.collect(find_project(), queue.flow_runs, 1, only=run_id)
    if not found:
        raise ValueError(f"run {run_id}: not known here")
    return found[0]


def log_tail(run_id: str, lines: int = 40) -> list[str]:
    """The last lines that the run's stages printed, without DVC's own."""
    path = find_project().workspace(runfile.check_run_id(run_id)) / "logs" / "run.log"
    if not path.exists():
        return []
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 400 * lines))
        said = log.read().decode("utf-8", "replace").splitlines()
    return [line for line in said if not NOISE.match(line)][-lines:]


def curves(run_id: str, most: int | None = None) -> dict[str, list[dict[str, str]]]:
    """Rows of the run's train and validation curves, as far as they are written; `most` thins each, evenly."""
    return read_curves(find_project().workspace(runfile.check_run_id(run_id)), most)


def memory(run_id: str, most: int | None = None) -> tuple[list[dict[str, str]], int | None]:
    """What memory the run's training held so far, row by row, and the peak that was predicted when it began.

    `most` thins the rows.
    """
    workspace = find_project().workspace(runfile.check_run_id(run_id))
    return read_memory(workspace, most), predicted_bytes(workspace / JOURNAL)
