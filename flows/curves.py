"""The curves of a training: two CSV files that grow row by row and are read while they grow."""

import csv
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

SPLITS = ("train", "validation")


class CurveWriter:
    """Writes a row an update to `train.csv` and a row an epoch to `validation.csv`, each flushed at once.

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

    def close(self) -> None:
        for file, _ in self._open.values():
            file.close()

    def _begin(self, split: str, columns: list[str]) -> "tuple[TextIO, csv.DictWriter[str]]":
        file = (self.folder / f"{split}.csv").open("w", newline="", encoding="utf-8")
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        self._open[split] = (file, writer)
        return self._open[split]


def plain(value: Any) -> Any:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return f"{value:.7g}" if isinstance(value, float) else value


def read_curve(path: Path) -> list[dict[str, str]]:
    """The whole rows of a curve file; a last line that is still being written is left for later."""
    with suppress(FileNotFoundError):
        text = path.read_text(encoding="utf-8")
        return list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))
    return []


def read_curves(workspace: Path) -> dict[str, list[dict[str, str]]]:
    return {split: read_curve(workspace / "artifacts" / "curves" / f"{split}.csv") for split in SPLITS}
