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


SLOW = """
services:
  postgres:
    entrypoint: [bash, -c, 'sleep 30; exec docker-entrypoint.sh "$$@"', late]
"""


def test_a_slow_database_is_waited_for_and_nothing_starts_over(healthy: Stack, tmp_path: Path) -> None:
    before = healthy.pivotline("status")["runs"]
    (tmp_path / "slow.yml").write_text(SLOW, encoding="utf-8")
    healthy.compose("down")
    healthy.compose("-f", "docker-compose.yml", "-f", str(tmp_path / "slow.yml"), "up", "--detach")
    healthy.wait_healthy()
    assert set(healthy.restarts().values()) == {0}
    assert healthy.pivotline("status")["runs"] == before


def sql(statement: str) -> list[str]:
    return ["psql", "--username=postgres", "--tuples-only", "--no-align", f"--command={statement}"]


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


def test_an_older_database_stops_the_start_until_the_upgrade_has_moved_it(healthy: Stack) -> None:
    """MLflow's database is made anew, one migration behind; last of all, as its records are gone."""
    healthy.compose("stop", "worker", "app", "mlflow")
    for statement in ("DROP DATABASE mlflow WITH (FORCE)", "CREATE DATABASE mlflow OWNER mlflow TEMPLATE template0"):
        code, said = healthy.inside("postgres", *sql(statement))
        assert code == 0, said
    made = healthy.run("docker", "compose", "run", "--rm", "--no-TTY", "schema", "python", "-c", OLDER)
    assert made.returncode == 0, made.stderr
    refused = healthy.run("docker", "compose", "up", "--detach")
    assert refused.returncode != 0
    assert "the database of MLflow is at" in healthy.container("schema").logs().decode()
    assert "run make upgrade" in healthy.container("schema").logs().decode()
    assert healthy.container("mlflow").status == "exited"  # no server that starts and fails again and again
    assert set(healthy.restarts().values()) == {0}
    copies = len(list((healthy.root / "backups").glob("*")))
    moved = healthy.run("make", "upgrade", timeout_s=800)
    assert moved.returncode == 0, moved.stderr
    assert "MLflow: moved from" in moved.stdout
    assert len(list((healthy.root / "backups").glob("*"))) == copies + 1
    healthy.wait_healthy()
    assert healthy.wait_for_state(healthy.trigger(SMALL), "done", "failed")["state"] == "done"
