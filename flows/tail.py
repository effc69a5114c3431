"""The end of a curve that grows: each look costs what was added, not what is there."""

from pathlib import Path
from typing import BinaryIO

from flows.curverows import parsed
from flows.curves import curves_folder


class Tail:
    """New rows of one split, look by look; from the first on again where the file is another one or was cut back."""

    def __init__(self, workspace: Path, split: str) -> None:
        self.workspace, self.split = workspace, split
        self._path: Path | None = None
        self._offset = 0
        self._last = b""  # the line before the offset: a new file may have the old one's inode, not its lines
        self._columns: list[str] = []

    def rows(self) -> list[dict[str, str]]:
        """Whole rows since the last look; a line that is still being written is left for the next."""
        path = curves_folder(self.workspace) / f"{self.split}.csv"
        try:
            with path.open("rb") as file:
                if not self._goes_on(path, file):
                    self._path, self._offset, self._last, self._columns = path, 0, b"", []
                file.seek(self._offset)
                added = file.read()
        except FileNotFoundError:
            return []
        whole = added[: added.rfind(b"\n") + 1]
        self._offset += len(whole)
        self._last = (whole.splitlines(keepends=True) or [self._last])[-1]
        lines = whole.decode("utf-8", "replace").split("\n")[:-1]
        if lines and not self._columns:
            self._columns = lines.pop(0).split(",")
        return parsed(self._columns, lines)

    def _goes_on(self, path: Path, file: BinaryIO) -> bool:
        """Whether this is still the file of the last look, with nothing cut off."""
        if path != self._path:
            return False
        file.seek(self._offset - len(self._last))
        return file.read(len(self._last)) == self._last
