"""A state folder that several users share: what one of them keeps to himself stops nothing of the others', is named,
and stays as it is.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from record import give_record
from test_prune import checkpoints

from flows import cache_users, runfile
from flows.leases import LASTS_S
from flows.params import Params, as_dict
from flows.project import Project

ROOT = Path(__file__).parents[1]
GOOD = "20261130-120000-aaaaaa"
PLAIN = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()  # no right beyond its own
PIECES = {  # what of each run cannot be read
    "20261130-120001-bbbbbb": ".",
    "20261130-120002-bbbbbb": "checkpoints",
    "20261130-120003-bbbbbb": "checkpoints/step-00000003",
    "20261130-120004-bbbbbb": "checkpoints/step-00000003/manifest.json",
    "20261130-120005-bbbbbb": "checkpoints/step-00000003/weights.safetensors",
    "20261130-120006-bbbbbb": "artifacts",
}

pytestmark = pytest.mark.skipif(bool(PLAIN) and not shutil.which(PLAIN[0]), reason="root reads everything")


def make(root: Path) -> Project:
    project = give_record(Project(root=root, state=root / "state"))
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy2(ROOT / name, root / name)
    cache_users.sign(project)
    return project


def run(project: Project, run_id: str, state: str = "done") -> Path:
    """A run with three checkpoints, of which the first may go, and samples."""
    checkpoints(project, run_id, (1, 2, 3), best=2)
    workspace = project.workspace(run_id)
    (workspace / "artifacts").mkdir()
    (workspace / "artifacts" / "samples.npz").write_text("samples")
    stages = {name: {"state": "waiting"} for name in ("preprocess", "train", "evaluate", "register", "prune")}
    runfile.update(workspace, params=as_dict(Params()), stages=stages, state=state)
    return workspace


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Project]:
    project = make(tmp_path / "project")
    run(project, GOOD)
    for run_id, piece in PIECES.items():
        (run(project, run_id, "failed") / piece).chmod(0)
    yield project
    for run_id, piece in PIECES.items():
        (project.workspace(run_id) / piece).chmod(0o755)


def said(project: Project, *words: str) -> tuple[int, Any]:
    kept = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    told = {"PIVOTLINE_PROJECT": str(project.root), "PIVOTLINE_STATE": str(project.state), "PYTHONPATH": str(ROOT)}
    told |= {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    command = [*PLAIN, sys.executable, "-m", "flows.cli", *words, "--json"]
    done = subprocess.run(command, env=kept | told, cwd=project.root, capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def listing(project: Project) -> list[str]:
    return sorted(str(path) for run_id in PIECES for path in project.workspace(run_id).rglob("*"))


def test_runs_that_cannot_be_read_are_named_and_kept_and_stop_nothing(shared: Project) -> None:
    before = listing(shared)
    code, found = said(shared, "status")
    assert (code, len(found["runs"])) == (0, 1 + len(PIECES)), found
    code, found = said(shared, "prune")
    assert code == 0, found
    assert not (shared.workspace(GOOD) / "checkpoints" / "step-00000001").exists()
    assert all(run_id in str(found["notes"]) for run_id in PIECES), found["notes"]
    assert listing(shared) == before
    code, found = said(shared, "doctor")
    texts = [entry["text"] for entry in found["findings"] if entry["level"] == "broken"]
    looked_at = [run_id for run_id, piece in PIECES.items() if piece != "artifacts"]
    assert all(any(run_id in text and "Permission denied" in text for text in texts) for run_id in looked_at), texts
    assert not any("is gone" in text for text in texts), texts


def test_the_death_of_a_run_that_is_not_ours_to_write_down_is_said(tmp_path: Path) -> None:
    """A run of another user's, of whose lock nothing can be told, is taken to live."""
    project = make(tmp_path / "project")
    dead, unknown = run(project, GOOD, "running"), run(project, "20261130-120001-bbbbbb", "running")
    (project.locks / f"{unknown.name}.run.lock").touch(0)
    dead.chmod(0o555)
    for path in (dead / ".run.json.lock", project.locks / f"{unknown.name}.run.lock"):
        path.chmod(0)
    code, found = said(project, "status")
    dead.chmod(0o755)
    assert code == 0, found
    assert {entry["run_id"]: entry["state"] for entry in found["runs"]} == {GOOD: "crashed", unknown.name: "running"}
    assert (runfile.read(dead) or {})["state"] == "running"


@pytest.mark.parametrize(("age_s", "goes"), [(0.0, False), (LASTS_S + 60, True)])
def test_a_lease_that_cannot_be_read_may_be_on_anything_for_its_time(tmp_path: Path, age_s: float, goes: bool) -> None:
    project = make(tmp_path / "project")
    run(project, GOOD)
    lease = project.locks / "leases" / "ab.json"
    lease.parent.mkdir()
    lease.touch(0)
    os.utime(lease, (time.time() - age_s,) * 2)
    code, found = said(project, "prune")
    assert code == 0, found
    assert (found["removed"] > 0) == goes, found
