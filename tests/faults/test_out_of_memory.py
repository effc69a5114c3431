"""The kernel kills for want of memory: the run has crashed with that word on it, and can be resumed.

Real kills, in a memory group of the kernel with a small limit; needs root.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import gated
import pytest
from scripted import Command, arrived, living, make, pivotline, record, state_json, wait_for
from stage import history

from flows.memory_kills import MACHINE, memory_kills
from flows.project import Project
from model.checkpoint import list_complete, list_faults

pytestmark = pytest.mark.slow
LIMIT_BYTES = 1_500_000_000  # twice of what a run takes beside its stage
GROUPS = (  # where groups are made, and the file with a group's limit: version 1, version 2
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
    (Path("/sys/fs/cgroup"), "memory.max"),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make(tmp_path_factory.mktemp("memory"))


@pytest.fixture
def small() -> Iterator[Path]:
    """A group of processes that have little memory together."""
    for root, limit in GROUPS:
        group = root / f"pivotline-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / limit).exists():
            (group / limit).write_text(str(LIMIT_BYTES))
            yield group
            group.rmdir()
            return
        group.rmdir()
    pytest.skip("no memory group can be made here")


def start(project: Project, group: Path, seed: int, trial: str = "") -> Command:
    enter = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
    return Command(project, "run", "--set", f"train.seed={seed}", before=enter, TRIAL=trial)


def test_a_stage_that_takes_all_memory(project: Project, small: Path) -> None:
    """It is killed, and the run says why and is offered for a resume."""
    before = memory_kills([MACHINE])
    process = start(project, small, 61, "train:hog")
    workspace = arrived(project, process)
    (workspace / "go").touch()
    assert process.wait() == 3, process.said()
    assert memory_kills([MACHINE]) > before
    found = record(workspace)
    assert found["state"] == "crashed"
    assert "train was killed: out of memory; lower train.batch_size or preprocess.seq_len" in found["message"]
    assert "resume" in found["message"]
    assert "Traceback" not in process.said()
    wait_for(lambda: not living(workspace))
    pivotline(project, "resume", workspace.name)
    assert record(workspace)["attempt"] == 2
    assert record(workspace)["stages"]["train"]["state"] == "done"


def test_the_process_of_a_run_that_is_killed_beside_its_stage(project: Project, small: Path) -> None:
    """Nobody is left to say it; whoever looks next finds the death and its likely cause."""
    process = start(project, small, 62, "train:hog")
    workspace = arrived(project, process)
    Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
    (workspace / "go").touch()
    assert process.wait() == -9
    wait_for(lambda: not living(workspace))
    found = state_json(project, workspace.name)
    assert found["state"] == "crashed"
    assert "ended without a word in train, probably out of memory: lower train.batch_size" in found["message"]
    assert "resume" in found["message"]


def test_a_training_that_ran_out_of_memory_goes_on_to_its_bits(
    tmp_path_factory: pytest.TempPathFactory, small: Path
) -> None:
    """Its checkpoints are whole, and once there is memory again a resume comes to what an undisturbed run came to."""
    project = gated.make(tmp_path_factory.mktemp("bits"))
    assert pivotline(project, "run", "--set", "train.seed=63")[0] == 0
    whole = max(project.runs.glob("*-*-*"))
    gated.shut(project, "update-5")
    (project.state / "hog").touch()
    process = start(project, small, 63)
    workspace = arrived(project, process)
    (workspace / "go").touch()
    assert process.wait() == 3, process.said()
    assert "train was killed: out of memory" in record(workspace)["message"]
    assert list_faults(workspace / "checkpoints") == []
    assert [entry.step for entry in list_complete(workspace / "checkpoints")] == [2, 4]
    (project.state / "hog").unlink()
    code, said = pivotline(project, "resume", workspace.name)
    assert code == 0, said
    assert "going on from the checkpoint of update 4; 1 update is repeated" in said
    assert history(workspace) == history(whole)
