"""MLflow's file names the files beside it by their whole paths; they are set right where the state folder has moved.

Else a folder that was renamed, copied or put back elsewhere would have lost its versions, and write new ones to where
it was before.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

BUSY_S = 10.0
PLACES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "storage_location"),
)


def relocate(database: Path, experiment: str, place: str) -> None:
    """Makes `place` the folder of the experiment's files, in all names that lie in the folder it has now.

    Raises OSError where the file is damaged or locked.
    """
    try:
        with closing(sqlite3.connect(database, timeout=BUSY_S)) as file, file:
            before = place_of(file, experiment)
            if before and before != place and before.startswith("file:"):
                for table, column in PLACES:
                    move(file, table, column, before, place)
    except sqlite3.Error as error:
        raise OSError(f"{database}: {error}") from None


def place_of(file: sqlite3.Connection, experiment: str) -> str | None:
    """Where the experiment keeps its files; None before there is one."""
    if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'experiments'").fetchone():
        return None
    found = file.execute("SELECT artifact_location FROM experiments WHERE name = ?", (experiment,)).fetchone()
    return str(found[0]) if found else None


def move(file: sqlite3.Connection, table: str, column: str, before: str, place: str) -> None:
    """All names of a column that are the folder `before`, or lie in it."""
    file.execute(
        f"UPDATE {table} SET {column} = ? || substr({column}, ?)"
        f" WHERE {column} = ? OR substr({column}, 1, ?) = ? || '/'",
        (place, len(before) + 1, before, len(before) + 1, before),
    )
