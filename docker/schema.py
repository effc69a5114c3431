"""The databases' schemas beside the servers': `schema.py` refuses an older one, `schema.py upgrade` moves it.

A server makes the schema in an empty database by itself. Moving one that holds records can fail half way and has no way
back, so it is a command of its own, with a backup before it: `make upgrade`.
"""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psycopg

REMEDY = "run make upgrade"
ASSIGNED = re.compile(r"^(revision|down_revision)\b[^=\n]*=\s*(.+)$", re.MULTILINE)
OTHER_SECRETS = "its volume was made with others; put those back, or restore a backup into an empty stack"
WAIT_S = 120.0  # for a PostgreSQL that is slow to start
POLL_S = 0.3
QUOTED = re.compile(r"[\"']([0-9a-f]+)[\"']")


@dataclass(frozen=True, kw_only=True, slots=True)
class Database:
    """A server's database: the variable with its address, the table with its revision, the folder of its migrations."""

    name: str
    variable: str
    table: str
    package: str
    folder: str
    command: tuple[str, ...]

    @property
    def url(self) -> str:
        return os.environ[self.variable]

    def revision(self) -> str | None:
        """Where the database stands, None when it is empty."""
        with connected(self.url) as connection:
            if connection.execute("SELECT to_regclass(%s)", (self.table,)).fetchone() == (None,):
                return None
            row = connection.execute(f"SELECT version_num FROM {self.table}").fetchone()
            return str(row[0]) if row else None

    def migrations(self) -> list[str]:
        """The text of every migration that the server of this image knows."""
        found = find_spec(self.package)
        assert found is not None
        assert found.origin is not None
        return [path.read_text(encoding="utf-8") for path in (Path(found.origin).parent / self.folder).glob("*.py")]


def connected(url: str) -> "psycopg.Connection":
    """A connection as soon as PostgreSQL takes one. Raises ConnectionError when it takes none for `WAIT_S`."""
    import psycopg  # in the image alone

    scheme, _, rest = url.partition("://")
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return psycopg.connect(f"{scheme.split('+')[0]}://{rest}", connect_timeout=5)
        except psycopg.OperationalError as error:
            if "authentication failed" in str(error):
                raise ConnectionError(f"PostgreSQL does not take the passwords of .env: {OTHER_SECRETS}") from None
            if time.monotonic() > deadline:
                raise ConnectionError(f"PostgreSQL does not answer since {WAIT_S:.0f} s: {error}") from None
            time.sleep(POLL_S)


DATABASES = (
    Database(
        name="MLflow",
        variable="MLFLOW_BACKEND_STORE_URI",
        table="alembic_version",
        package="mlflow",
        folder="store/db_migrations/versions",
        command=("mlflow", "db", "upgrade"),
    ),
    Database(
        name="MLflow's logins",
        variable="MLFLOW_AUTH_STORE_URI",
        table="alembic_version_auth",
        package="mlflow",
        folder="server/auth/db/migrations/versions",
        command=("python", "-m", "mlflow.server.auth", "db", "upgrade", "--url"),
    ),
    Database(
        name="Prefect",
        variable="PREFECT_SERVER_DATABASE_CONNECTION_URL",
        table="alembic_version",
        package="prefect",
        folder="server/database/_migrations/versions/postgresql",
        command=("prefect", "server", "database", "upgrade", "--yes"),
    ),
)


def lineage(migrations: list[str]) -> tuple[str, set[str]]:
    """The newest revision and all of them, read off the migrations' text: importing them takes seconds."""
    known: set[str] = set()
    replaced: set[str] = set()
    for text in migrations:
        for name, value in ASSIGNED.findall(text):
            (known if name == "revision" else replaced).update(QUOTED.findall(value))
    (newest,) = known - replaced
    return newest, known


def verdict(database: Database, revision: str | None, newest: str, known: set[str]) -> str | None:
    """Why a server must not be started on its database, None when it may."""
    if revision in (None, newest):
        return None
    if revision in known:
        return f"the database of {database.name} is at {revision}, its server expects {newest}: {REMEDY}"
    return f"the database of {database.name} is at {revision}, which its server does not know: use the newer image"


def refusals() -> list[str]:
    judged = [verdict(entry, entry.revision(), *lineage(entry.migrations())) for entry in DATABASES]
    return [refused for refused in judged if refused]


def upgrade() -> int:
    """Moves every database that is behind; stops at the first that fails."""
    for database in DATABASES:
        before, newest = database.revision(), lineage(database.migrations())[0]
        if before in (None, newest):
            print(f"{database.name}: nothing to do")
            continue
        address = () if database.name == "Prefect" else (database.url,)
        done = subprocess.run((*database.command, *address), check=False)
        after = database.revision()
        if done.returncode or after != newest:
            print(f"{database.name}: stays at {after}; the backup has what was there before", file=sys.stderr)
            return 5
        print(f"{database.name}: moved from {before} to {after}")
    return 0


def judge() -> int:
    """Says whether the servers may be started on their databases."""
    refused = refusals()
    print("\n".join(refused) or "every database fits its server", file=sys.stderr if refused else sys.stdout)
    return 4 if refused else 0


def main() -> int:
    try:
        return upgrade() if sys.argv[1:] == ["upgrade"] else judge()
    except ConnectionError as error:
        print(error, file=sys.stderr)
        return 4


if __name__ == "__main__":
    sys.exit(main())
