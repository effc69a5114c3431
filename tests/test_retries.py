"""Which runs get a further attempt by themselves: those that crashed in the queue, as often as their settings say."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows import runfile
from flows.life import run_lock
from flows.params import Params, as_dict, change
from flows.project import Project
from flows.retries import retry_crashed

RUN = "20261130-120000-abcdef"
CRASHED: dict[str, Any] = {"state": "crashed", "door": "queue", "message": "train was killed"}


def made(folder: Path, retries: int, **changes: Any) -> Project:
    project = Project(root=folder, state=folder / "state")
    workspace = project.workspace(RUN)
    workspace.mkdir(parents=True)
    stages = {"preprocess": {"state": "done"}, "train": {"state": "crashed"}}
    plain = {"run_id": RUN, "created_at": runfile.now(), "ended_at": runfile.now(), "dataset_version": "ab.dir"}
    params = as_dict(change(Params(), {"run": {"retries": retries}}))
    runfile.write(workspace, plain | {"params": params, "stages": stages, "attempt": 1} | CRASHED | changes)
    return project


def outcome(project: Project) -> tuple[str, int]:
    record = runfile.read(project.workspace(RUN)) or {}
    return record["state"], record["attempt"]


@pytest.mark.parametrize(
    ("retries", "changes", "expected"),
    [
        (1, {}, ("queued", 2)),
        (0, {}, ("crashed", 1)),
        (2, {"attempt": 2, "retried": 1}, ("queued", 3)),
        (2, {"attempt": 3, "retried": 2}, ("crashed", 3)),
        (1, {"attempt": 4}, ("queued", 5)),
        (9, {"state": "failed"}, ("failed", 1)),
        (9, {"state": "cancelled"}, ("cancelled", 1)),
        (9, {"state": "done"}, ("done", 1)),
        (9, {"door": "here"}, ("crashed", 1)),
        (9, {"ended_at": (datetime.now(UTC) - timedelta(days=2)).isoformat()}, ("crashed", 1)),
        (9, {"ended_at": None}, ("crashed", 1)),
    ],
    ids=lambda value: "" if isinstance(value, int | tuple) else "-".join(value) or "crashed",
)
def test_who_is_tried_again(tmp_path: Path, retries: int, changes: dict, expected: tuple[str, int]) -> None:
    project = made(tmp_path, retries, **changes)
    said: list[str] = []
    for _ in range(3):
        retry_crashed(project, said.append)
    assert outcome(project) == expected
    assert len(said) == (expected[0] == "queued")


def test_a_retry_goes_on_from_the_newest_checkpoint_and_says_why(tmp_path: Path) -> None:
    project = made(tmp_path, 3)
    retry_crashed(project, print)
    record = runfile.read(project.workspace(RUN)) or {}
    assert record["resume"] is True
    assert record["stages"] == {"preprocess": {"state": "done"}, "train": {"state": "waiting"}}
    assert record["message"] == "retry 1 of 3 after: train was killed"


def test_a_run_that_is_still_ending_waits_for_the_next_round(tmp_path: Path) -> None:
    project = made(tmp_path, 1)
    project.make_state()
    with run_lock(project, RUN):
        retry_crashed(project, print)
        assert outcome(project) == ("crashed", 1)
    retry_crashed(project, print)
    assert outcome(project) == ("queued", 2)
