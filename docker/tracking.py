"""MLflow's server in one process, with the admin's password of this start.

`mlflow server` makes the databases ready and then has a child import everything a second time: 3 s of each start, and
220 MB for a parent that only waits. Here uvicorn runs in the process that made them ready.
"""

import os
from pathlib import Path
from typing import NoReturn

import uvicorn  # before MLflow, which checks the Host of requests only where it finds a server loaded
from mlflow import server
from mlflow.cli import cli
from password import settle

LOGINS = Path("/tmp/auth.ini")  # in memory; MLflow reads its logins from a file only
COMMAND = (
    "server --host 0.0.0.0 --port 5000 --workers 1 --app-name basic-auth --uvicorn-opts --no-access-log"
    " --serve-artifacts --artifacts-destination /artifacts"
)


def write_logins(password: str) -> None:
    """For this user alone."""
    os.umask(0o077)
    lines = (
        "[mlflow]",
        "default_permission = NO_PERMISSIONS",
        f"database_uri = {os.environ['MLFLOW_AUTH_STORE_URI']}",
        "admin_username = admin",
        f"admin_password = {password}",
    )
    LOGINS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.environ["MLFLOW_AUTH_CONFIG_PATH"] = str(LOGINS)


def main() -> None:
    password = os.environ.pop("MLFLOW_PASSWORD")
    os.environ.pop("PREFECT_SERVER_DATABASE_CONNECTION_URL", None)
    write_logins(password)

    def serve(command: list[str], *, extra_env: dict[str, str], **_: object) -> NoReturn:
        """In place of the child: the databases have their tables by now."""
        settle(os.environ["MLFLOW_AUTH_STORE_URI"], password)
        os.environ.update(extra_env)
        uvicorn.main(command[command.index("uvicorn") + 1 :])
        raise AssertionError("uvicorn ends its process")

    assert callable(server._exec_cmd)
    server._exec_cmd = serve
    cli(COMMAND.split())


if __name__ == "__main__":
    main()
