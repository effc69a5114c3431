"""Where MLflow's files lie: a location as MLflow names it, and the path that it means on this machine."""

from pathlib import Path
from urllib.parse import unquote, urlparse

from flows import disk
from flows.project import Project

ELSEWHERE = "it does not lie in the state folder itself"


def local(location: str) -> Path | None:
    """The folder of a location on this machine, None for one that only the server can reach."""
    parsed = urlparse(location)
    return Path(unquote(parsed.path)) if parsed.scheme in ("file", "") else None


def place(location: str | None) -> Path:
    return local(str(location)) or Path(unquote(urlparse(str(location)).path))


def elsewhere(project: Project, location: str | None) -> str:
    """Why what lies there is not ours to take away; empty where it is. A local server keeps its files in `mlartifacts`.

    Links on the way lead out of the state folder, and nobody asked for that.
    """
    folder = local(str(location)) or project.state / "mlartifacts" / place(location).as_posix().lstrip("/")
    return "" if disk.inside(project.state, folder) else ELSEWHERE
