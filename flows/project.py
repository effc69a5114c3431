"""Where things are: the project's root and the one state folder that everything is written to."""

import os
from dataclasses import dataclass
from pathlib import Path

from flows.errors import ResourceError

MARKER = "dvc.yaml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A checkout with its state folder; both paths are absolute."""

    root: Path
    state: Path

    @property
    def runs(self) -> Path:
        return self.state / "runs"

    @property
    def locks(self) -> Path:
        return self.state / "locks"

    @property
    def cache(self) -> Path:
        """The DVC cache that run workspaces share, the checkout's unless `PIVOTLINE_CACHE` names another.

        Containers have one beside the state, where it can be linked to: the checkout is another file system there.
        """
        return Path(os.environ.get("PIVOTLINE_CACHE") or self.root / ".dvc" / "cache")

    def workspace(self, run_id: str) -> Path:
        return self.runs / run_id

    def identity(self) -> str:
        """Which folder the state is, wherever it is moved or mounted; a copy of it is another one."""
        info = self.state.stat()
        return f"{info.st_dev}:{info.st_ino}"

    def make_state(self) -> None:
        """Makes the state folder. Raises ResourceError naming it when it cannot be made or written to."""
        try:
            self.locks.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.unusable((error.strerror or str(error)).lower()) from None
        if not all(os.access(folder, os.W_OK) for folder in (self.state, self.locks)):
            raise self.unusable("cannot be written to")

    def unusable(self, why: str) -> ResourceError:
        remedy = "set PIVOTLINE_STATE to a folder that can be made and written to"
        return ResourceError(f"state folder {self.state}: {why}; {remedy}")


def find_project(start: Path | None = None) -> Project:
    """The project at `PIVOTLINE_PROJECT`, else the nearest folder above `start` with `dvc.yaml` and `params.yaml`.

    Raises ValueError when there is none. `PIVOTLINE_STATE` moves the state folder away from the root.
    """
    named = os.environ.get("PIVOTLINE_PROJECT")
    here = Path(named) if named else (start or Path.cwd())
    for folder in (here.resolve(), *here.resolve().parents):
        if (folder / MARKER).is_file() and (folder / "params.yaml").is_file():
            return Project(root=folder, state=state_folder(folder))
    raise ValueError(
        f"no Pivotline project at {here}: expected {MARKER} and params.yaml there or above; change into one"
    )


def state_folder(root: Path) -> Path:
    """Raises ValueError for a name that the addresses of databases cannot hold: they would lie somewhere else."""
    folder = Path(os.environ.get("PIVOTLINE_STATE") or root / "state").resolve()
    if wrong := [sign for sign in str(folder) if sign in "?%" or not sign.isprintable()]:
        remedy = "set PIVOTLINE_STATE to a folder without it"
        raise ValueError(
            f"state folder {folder}: no database can be addressed there, its name has {wrong[0]!r}; {remedy}"
        )
    return folder
