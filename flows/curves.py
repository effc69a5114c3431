"""The curves of a training: two CSV files that grow row by row and are read while they grow.

They grow in `journal/`, which DVC does not know and so never removes; a training that goes on from a checkpoint cuts
them back to it. When the training is done they are copied to the stage's outputs, which count from then on.
Beside them grows what memory the training held, which is another number on every machine and so no output.
"""

import csv
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from flows.curverows import parsed

SPLITS = ("train", "validation")
MEMORY = "memory"  # a split of the journal alone
PLAN = "memory.json"  # what was predicted, kept for further attempts
JOURNAL, OUTPUT = Path("journal"), Path("artifacts/curves")


class CurveWriter:
    """Adds a row an update to `train.csv`, one an epoch to `validation.csv`, some to `memory.csv`, each flushed.

    A file's columns are those of its first row; None and NaN become an empty field: not computed.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._open: dict[str, tuple[TextIO, csv.DictWriter[str]]] = {}

    def write(self, row: dict[str, Any]) -> None:
        values = {name: plain(value) for name, value in row.items() if name != "split"}
        file, writer = self._open.get(row["split"]) or self._begin(row["split"], list(values))
        writer.writerow(values)
        file.flush()

    def sync(self) -> None:
        """All rows are on the disk when this returns: a checkpoint must not know of rows that a power cut takes."""
        for file, _ in self._open.values():
            os.fsync(file.fileno())

    def close(self) -> None:
        for file, _ in self._open.values():
            file.close()

    def _begin(self, split: str, columns: list[str]) -> "tuple[TextIO, csv.DictWriter[str]]":
        path = self.folder / f"{split}.csv"
        before = columns_of(path)
        file = path.open("a", newline="", encoding="utf-8")
        writer = csv.DictWriter(file, before or columns, lineterminator="\n")
        if not before:
            writer.writeheader()
        self._open[split] = (file, writer)
        return self._open[split]


def plain(value: Any) -> Any:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return f"{value:.7g}" if isinstance(value, float) else value


def columns_of(path: Path) -> list[str]:
    """The columns of a curve file that has its first line, else none."""
    with suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
        head = file.readline()
        return head.strip().split(",") if head.endswith("\n") else []
    return []


def cut(folder: Path, step: int, epoch: int) -> None:
    """Takes back the rows after a checkpoint of update `step` in which `epoch` epochs were judged; 0, 0 takes all."""
    for split, column, last in (("train", "step", step), ("validation", "epoch", epoch), (MEMORY, "step", step)):
        path = folder / f"{split}.csv"
        kept = [row for row in read_curve(path) if column in row and int(row[column]) <= last]
        if not kept:
            path.unlink(missing_ok=True)
            continue
        columns = columns_of(path)
        part = path.with_suffix(".part")
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
        part.replace(path)


def publish(journal: Path, output: Path) -> None:
    """Copies finished curves to a stage's outputs; a split without rows gets an empty file."""
    output.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        source = journal / f"{split}.csv"
        (output / f"{split}.csv").write_bytes(source.read_bytes() if source.exists() else b"")


def read_curve(path: Path, most: int | None = None) -> list[dict[str, str]]:
    """The whole rows of a curve file; a damaged line is left out, a last one that is still being written for later.

    `most` thins evenly to about so many rows, the last among them, before they are read as such: a page reads often.
    """
    with suppress(FileNotFoundError):
        text = path.read_text(encoding="utf-8", errors="replace")
        head, *lines = text[: text.rfind("\n") + 1].split("\n")[:-1] or [""]
        return parsed(head.split(","), lines if most is None else thinned(lines, most))
    return []


def thinned(rows: list[str], most: int) -> list[str]:
    stride = -(-len(rows) // most) or 1
    return rows[::stride] + (rows[-1:] if (len(rows) - 1) % stride else [])


def read_curves(workspace: Path, most: int | None = None) -> dict[str, list[dict[str, str]]]:
    """The curves of a run: those of its finished training, also one restored from the cache, else those that grow."""
    return {split: read_curve(curves_folder(workspace) / f"{split}.csv", most) for split in SPLITS}


def read_memory(workspace: Path, most: int | None = None) -> list[dict[str, str]]:
    """What memory the run's training held as it went on; nothing where it was restored from the cache."""
    return read_curve(workspace / JOURNAL / f"{MEMORY}.csv", most)


def predicted_bytes(journal: Path) -> int | None:
    """The peak that was predicted before the training began, as the stage kept it; None where it did not."""
    with suppress(FileNotFoundError, ValueError, KeyError):
        kept = json.loads((journal / PLAN).read_text(encoding="utf-8"))
        return int(kept["peak_bytes"])
    return None


def curves_folder(workspace: Path) -> Path:
    finished = any((workspace / OUTPUT / f"{split}.csv").exists() for split in SPLITS)
    return workspace / (OUTPUT if finished else JOURNAL)
