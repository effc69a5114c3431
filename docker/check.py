"""Refuses a start with weak secrets or a checkout that the services cannot read. One sentence for each fault."""

import os
import sys
from pathlib import Path

SECRETS = (
    "POSTGRES_PASSWORD",
    "MLFLOW_DB_PASSWORD",
    "PREFECT_DB_PASSWORD",
    "MLFLOW_PASSWORD",
    "MLFLOW_SECRET_KEY",
    "PREFECT_PASSWORD",
    "APP_PASSWORD",
)
SHORTEST = 16
COMMON = ("password", "changeme", "admin", "secret", "postgres", "prefect", "mlflow", "pivotline", "letmein", "12345")
PROJECT = Path("/project")
NEEDED = ("dvc.yaml", "params.yaml", "data.dvc", "flows/cli.py", "app/main.py", ".dvc/config")
WRITTEN = ("data", ".dvc/tmp")
REMEDY = "remove .env and run make secrets"


def weak(name: str, value: str) -> str | None:
    """Why a secret is refused, None when it is good. They go into addresses, so nothing there may need quoting."""
    if len(value) < SHORTEST:
        return f"{name} has {len(value)} characters, expected at least {SHORTEST}: {REMEDY}"
    if len(set(value)) < SHORTEST // 2 or any(word in value.lower() for word in COMMON):
        return f"{name} can be guessed: {REMEDY}"
    if not value.replace("-", "").replace("_", "").isalnum() or not value.isascii():
        return f"{name} has other characters than letters, digits, - and _: {REMEDY}"
    return None


def unreadable(project: Path) -> str | None:
    """The first file of the checkout that this user cannot read, as a sentence."""
    for name in NEEDED:
        if not os.access(project / name, os.R_OK):
            return f"{name} of the checkout cannot be read by user {os.getuid()}: run chmod -R go+rX in it"
    return None


def unwritable(project: Path) -> str | None:
    for name in WRITTEN:
        if not os.access(project / name, os.W_OK) and not (project / name / "dataset.json").exists():
            return f"{name} of the checkout cannot be written by user {os.getuid()}: run make secrets"
    return None


def root(uid: int) -> str | None:
    return f"PIVOTLINE_UID is {uid}, expected an ordinary user: {REMEDY}" if uid == 0 else None


def problems(environment: dict[str, str], project: Path, uid: int) -> list[str]:
    """Everything that is wrong."""
    values = [weak(name, environment.get(name, "")) for name in SECRETS]
    return [found for found in (*values, root(uid), unreadable(project), unwritable(project)) if found]


if __name__ == "__main__":
    found = problems(dict(os.environ), PROJECT, os.getuid())
    print("\n".join(found) or "secrets and checkout are good")
    sys.exit(2 if found else 0)
