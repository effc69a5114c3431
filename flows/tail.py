"""The end of a curve that grows: each look costs what was added, not what is there."""

import csv
from pathlib import Path

from flows.curves import curves_folder


class Tail:
    """New rows of one split, look by look; from the first on again where the file is another one or was cut back."""

    def __init__(self, workspace: Path, split: str) -> None:
        self.workspace, self.split = workspace, split
        self._file: tuple[Path, int] | None = None  # path and inode
        self._offset = 0
        self._columns: list[str] = []

    def rows(self) -> list[dict[str, str]]:
        """Whole rows since the last look; a line that is still being written is left for the next."""
        path = curves_folder(self.workspace) / f"{self.split}.csv"
        try:
            with path.open("rb") as file:
                info = path.stat()
                if (path, info.st_ino) != self._file or info.st_size < self._offset:
                    self._file, self._offset, self._columns = (path, info.st_ino), 0, []
                file.seek(self._offset)
                added = file.read()
        except FileNotFoundError:
            return []
        whole = added[: added.rfind(b"\n") + 1]
        self._offset += len(whole)
        lines = list(csv.reader(whole.decode("utf-8").splitlines()))
        if lines and not self._columns:
            self._columns = lines.pop(0)
        return [dict(zip(self._columns, line, strict=True)) for line in lines]
