"""A run's curves as the page draws them: read once a run and step, thinned for all viewers together."""

from functools import lru_cache

from app import backend
from app.charts import MOST_POINTS, Point, smoothed
from flows.runview import RunView

AXES = ("update", "epoch", "time")
COLUMNS = ("step", "epoch", "elapsed_s", "steps", "loss", "balanced_accuracy")
KEPT_RUNS = 48  # traces of so many runs stay in memory, about half a megabyte each at most

Row = dict[str, float]
Traces = dict[str, list[Row]]


def traces(view: RunView) -> Traces:
    """Thinned rows of the train and the validation curve; what was not computed is absent from its row."""
    stages = tuple(state for _, state, _ in view.stages)
    return read(view.run_id, (view.state, view.ended_at, stages, view.progress.step if view.progress else None))


@lru_cache(maxsize=KEPT_RUNS)
def read(run_id: str, mark: object) -> Traces:
    """`mark` is where the run stands: while it is the same, so are its curves."""
    found = backend.curves(run_id, MOST_POINTS)
    return {split: [numbers(row) for row in rows] for split, rows in found.items()}


def numbers(row: dict[str, str]) -> Row:
    return {name: float(row[name]) for name in COLUMNS if row.get(name)}


def points(found: Traces, split: str, column: str, axis: str = "update") -> list[Point]:
    """A column over updates, epochs or seconds."""
    name, scale = place(found, axis)
    return [(row[name] * scale, row[column]) for row in found[split] if column in row and name in row]


def place(found: Traces, axis: str) -> tuple[str, float]:
    """The column that an axis shows and its scale; updates become parts of an epoch once one is complete."""
    if axis == "epoch" and found["validation"]:
        last = found["validation"][-1]
        return "step", last["epoch"] / last["step"]
    return {"update": "step", "epoch": "epoch", "time": "elapsed_s"}[axis], 1.0


def smooth(found: Traces, column: str, axis: str = "update") -> list[Point]:
    """The training curve without its noise."""
    drawn = points(found, "train", column, axis)
    whole = found["train"][-1].get("steps") if found["train"] else None
    return smoothed(drawn, min(whole or len(drawn), MOST_POINTS))
