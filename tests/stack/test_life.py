"""A backup is brought into a stack that has nothing; a database of an older schema stops the start."""

from pathlib import Path

import pytest
from containers import SMALL, Stack, clone
from docker import DockerClient
from mlflow.tracking import MlflowClient


def test_a_backup_round_trip_into_an_empty_stack(
    healthy: Stack, engine: DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another checkout with other secrets: what was recorded, registered and run is there again."""
    run = healthy.wait_for_state(healthy.trigger(SMALL), "done", "failed")
    done = healthy.run("make", "backup")
    assert done.returncode == 0, done.stderr
    folder = max((healthy.root / "backups").iterdir())
    assert folder.stat().st_mode & 0o077 == 0
    before = healthy.pivotline("status")["runs"]
    healthy.compose("stop")

    other = Stack(engine, clone(tmp_path / "pivotline"), f"{healthy.name}-restored")
    other.make_secrets()
    try:
        done = other.run("make", "restore", f"FROM={folder}")
        assert done.returncode == 0, done.stderr
        other.wait_healthy()
        assert other.pivotline("status")["runs"] == before
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "admin")
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", other.settings["MLFLOW_PASSWORD"])
        client = MlflowClient(tracking_uri=other.address("mlflow"), registry_uri=other.address("mlflow"))
        assert client.get_model_version_by_alias("pivotline", "champion")
        again = other.wait_for_state(other.trigger(SMALL), "done", "failed")
        assert again["result"]["weights_sha256"] == run["result"]["weights_sha256"]
        assert [state for _, state, _ in again["stages"]][:3] == ["cached"] * 3
        refused = other.run("make", "restore", f"FROM={folder}")
        assert refused.returncode != 0
        assert "holds something already" in refused.stderr
    finally:
        other.remove()


def test_a_damaged_backup_is_refused(prepared: Stack, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "state.tar").write_bytes(b"x")
    (folder / "SHA256SUMS").write_text(f"{'0' * 64}  state.tar\n", encoding="utf-8")
    done = prepared.run("bash", "docker/restore.sh", str(folder))
    assert done.returncode == 2
    assert "damaged; nothing was restored" in done.stderr


def test_an_older_database_stops_the_start_and_names_the_command(healthy: Stack) -> None:
    older = "UPDATE alembic_version SET version_num = '75868b020152'"
    newest = healthy.inside("postgres", *sql("SELECT version_num FROM alembic_version"))[1].strip()
    healthy.inside("postgres", *sql(older))
    try:
        done = healthy.run("docker", "compose", "up", "--detach", "--force-recreate", "schema", "mlflow")
        assert done.returncode != 0
        assert "run make upgrade" in healthy.container("schema").logs().decode()
    finally:
        healthy.inside("postgres", *sql(f"UPDATE alembic_version SET version_num = '{newest}'"))


def sql(statement: str) -> list[str]:
    return ["psql", "--username=postgres", "--dbname=mlflow", "--tuples-only", "--no-align", f"--command={statement}"]


OLDER = """
import os
import sqlalchemy
from alembic import command
from alembic.script import ScriptDirectory
from mlflow.store.db.utils import _get_alembic_config
from mlflow.store.tracking.dbmodels.initial_models import Base

url = os.environ["MLFLOW_BACKEND_STORE_URI"]
Base.metadata.create_all(sqlalchemy.create_engine(url))
config = _get_alembic_config(url)
command.upgrade(config, list(ScriptDirectory.from_config(config).walk_revisions())[1].revision)
"""


def test_an_older_database_is_moved_by_the_upgrade_and_by_nothing_else(healthy: Stack) -> None:
    healthy.inside("postgres", *sql("CREATE DATABASE older OWNER mlflow"))
    address = f"postgresql+psycopg://mlflow:{healthy.settings['MLFLOW_DB_PASSWORD']}@postgres/older"
    command = ["docker", "compose", "run", "--rm", "--no-TTY", "--env", f"MLFLOW_BACKEND_STORE_URI={address}", "schema"]
    try:
        assert healthy.run(*command, "python", "-c", OLDER).returncode == 0
        refused = healthy.run(*command)
        assert refused.returncode == 4
        assert "run make upgrade" in refused.stderr
        moved = healthy.run(*command, "python", "/srv/stack/schema.py", "upgrade")
        assert moved.returncode == 0, moved.stderr
        assert "MLflow: moved from" in moved.stdout
        assert healthy.run(*command).returncode == 0
    finally:
        healthy.inside("postgres", *sql("DROP DATABASE older"))
