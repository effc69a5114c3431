"""Where a train stage begins: at the start, or where an earlier attempt of the same run was saved."""

import os
from pathlib import Path

from flows import earlier
from flows.curverows import gap
from flows.curves import cut, read_curve
from model.checkpoint import Checkpoint, list_complete, list_faults, state_of
from model.progress import differences
from model.resume import origin_of, usable
from model.training import Training

VARIABLE = "PIVOTLINE_RESUME"  # "1": go on from the newest checkpoint; a stage starts anew unless it is told this


def starting_point(training: Training, journal: Path) -> Path | None:
    """The checkpoint to go on from, with the journal cut back to it; None to start anew, with an empty journal.

    Curves that are damaged cost their rows, never a checkpoint: an older one is used where the curves are whole up to
    it, else the newest, and the curves keep their gap.
    """
    if os.environ.get(VARIABLE) != "1":
        earlier.put_away(training.checkpoints, journal)
        cut(journal, 0, 0)
        return None
    steps = [int(row["step"]) for row in read_curve(journal / "train.csv")]
    for fault in [*list_faults(training.checkpoints), *foreign(training)]:
        print(f"note: checkpoint passed over: {fault}", flush=True)
    points = earlier.without(list(usable(training.checkpoints, training.origin)), journal)
    point = next((entry for entry in points if not gap(steps, entry.step)), next(iter(points), None))
    if point and (lost := gap(steps, point.step)):
        print(f"note: {journal / 'train.csv'} is damaged: the curves lack the updates {lost}", flush=True)
    cut(journal, point.step if point else 0, judged(point) if point else 0)
    print(said(point, max(steps, default=0)), flush=True)
    return point.path if point else None


def foreign(training: Training) -> list[str]:
    """One sentence for each complete checkpoint that belongs to a run with other settings or samples."""
    found = [(entry, differences(origin_of(entry), training.origin)) for entry in list_complete(training.checkpoints)]
    return [f"{entry.path}: {'; '.join(why)}" for entry, why in found if why]


def judged(point: Checkpoint) -> int:
    """Epochs that were judged before the checkpoint was written."""
    return int(state_of(point.path)["progress"]["epoch"])


def said(point: Checkpoint | None, last: int) -> str:
    if point is None:
        return f"no checkpoint to go on from: training starts anew{repeated(last)}"
    return f"going on from the checkpoint of update {point.step}{repeated(last - point.step)}"


def repeated(updates: int) -> str:
    return f"; {updates} updates are repeated" if updates > 1 else "; 1 update is repeated" if updates == 1 else ""
