"""Dead runs are found and live ones left alone: by lock and process table here, by lasting silence elsewhere."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows import attempt, cancellation, holder, runfile, silence, tracking
from flows.keeper import holding
from flows.ledger import Attempt, Ledger
from flows.life import cancel_lock
from flows.params import Params, as_dict
from flows.process import Process, session
from flows.project import Project
from flows.reaper import close_ended, reap, tell_mlflow
from flows.silence import Silence
from flows.workers import worker_service

RUN = "20261130-120000-abcdef"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return Project(root=tmp_path, state=tmp_path / "state")


def record(project: Project, **changes: Any) -> Path:
    workspace = project.workspace(RUN)
    workspace.mkdir(parents=True)
    stages = {name: {"state": "waiting"} for name in ("preprocess", "train", "evaluate", "register", "prune")}
    plain = {"run_id": RUN, "state": "running", "created_at": runfile.now(), "dataset_version": "ab.dir"}
    runfile.write(workspace, plain | {"params": as_dict(Params()), "stages": stages, "attempt": 1} | changes)
    return workspace


def state(project: Project) -> str:
    return str((runfile.read(project.workspace(RUN)) or {})["state"])


def dead() -> Process:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    found = Process.of(child.pid)
    child.communicate()
    assert found is not None
    return found


def rebooted() -> Process:
    return replace(Process.this(), boot_id="before")


def of_before() -> Process:
    """As versions wrote it that knew of one process table alone."""
    mine = Process.this()
    return replace(mine, started=mine.started.partition("@")[0])


def elsewhere() -> Process:
    return replace(Process.this(), host="other", boot_id="other", pid=1)


OWNERS = [
    (Process.this, "running", ""),
    (of_before, "running", ""),
    (dead, "crashed", "ended without a word in train"),
    (rebooted, "crashed", "the machine was started anew while it ran"),
    (elsewhere, "running", ""),
]


IDS = ["alive", "alive, of an older version", "dead", "rebooted", "elsewhere"]


def test_a_dead_run_is_found_behind_any_number_of_runs_that_were_asked_for_later(project: Project) -> None:
    workspace = record(project)
    Ledger(project).begin(RUN, 1, dead())
    for number in range(300):
        later = project.runs / f"20261201-120000-{number:06x}"
        later.mkdir()
        runfile.write(later, (runfile.read(workspace) or {}) | {"run_id": later.name, "state": "queued"})
    assert reap(project, print) == [RUN]


@pytest.mark.parametrize(("owner", "expected", "words"), OWNERS, ids=IDS)
def test_who_is_dead(project: Project, owner: Callable[[], Process], expected: str, words: str) -> None:
    workspace, said = record(project), []
    Ledger(project).begin(RUN, 1, owner())
    Ledger(project).beat(RUN, 1, "train", None)
    reap(project, said.append)
    assert state(project) == expected
    assert words in str((runfile.read(workspace) or {}).get("message"))
    assert len(said) == (expected == "crashed")


def test_a_held_run_is_never_called_dead(project: Project) -> None:
    record(project)
    Ledger(project).begin(RUN, 1, dead())
    with holding(project, RUN):
        assert reap(project, print, Silence()) == []
    assert reap(project, print) == [RUN]


@pytest.mark.parametrize("content", [None, b"no database" * 700], ids=["lost", "damaged"])
def test_without_a_ledger_the_lock_tells_who_lives(project: Project, content: bytes | None) -> None:
    record(project)
    project.make_state()
    if content:
        Ledger(project).path.write_bytes(content)
    with holding(project, RUN):
        assert reap(project, print) == []
    assert reap(project, print) == [RUN]


@pytest.mark.parametrize(("owner", "expected", "words"), OWNERS, ids=IDS)
def test_without_a_ledger_the_note_of_its_holder_tells_who_is_dead(
    project: Project, owner: Callable[[], Process], expected: str, words: str
) -> None:
    workspace = record(project)
    project.make_state()
    Ledger(project).path.write_bytes(b"no database" * 700)
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    stage = Process.of(left.pid)
    holder.note(project, Attempt(run_id=RUN, attempt=1, process=owner(), stage="train", group=stage, beat_at=1.0))
    reap(project, print)
    assert state(project) == expected
    assert words in str((runfile.read(workspace) or {}).get("message"))
    assert (left.poll() is not None) == (expected == "crashed")
    left.kill()
    left.wait()


def test_a_run_that_is_ended_as_asked_is_not_said_to_have_crashed(project: Project) -> None:
    """A status that comes between the kill of a cancel and its word."""
    record(project, cancel_asked_at=runfile.now())
    Ledger(project).begin(RUN, 1, dead())
    said: list[str] = []
    reap(project, said.append)
    assert said == [f"run {RUN} cancelled: as it was asked for"]


@pytest.mark.parametrize(
    ("asker", "hours", "lost"),
    [(dead, 0, True), (rebooted, 0, True), (Process.this, 9, False), (elsewhere, 0, False), (elsewhere, 9, True)],
    ids=["dead", "rebooted", "alive, the clock went forward", "elsewhere", "elsewhere, long ago"],
)
def test_a_run_that_its_asker_never_began_is_lost_once_that_one_is_gone(
    project: Project, asker: Callable[[], Process], hours: int, lost: bool
) -> None:
    asked = (datetime.now(UTC) - timedelta(hours=hours)).isoformat()
    record(project, state="queued", door="here", asked_at=asked, asker=asker().as_dict())
    if not lost:
        with pytest.raises(ValueError, match="is queued"):
            attempt.renew(project, RUN, resume=True, door="here")
    else:
        assert attempt.renew(project, RUN, resume=True, door="here")["attempt"] == 2
        runfile.update(project.workspace(RUN), asker=asker().as_dict(), asked_at=asked)
    assert reap(project, print) == ([RUN] if lost else [])


ODD_NOTES = [
    lambda note: "[" * 200_000,
    lambda note: "5",
    lambda note: json.dumps(note | {"attempt": "1"}),
    lambda note: json.dumps(note | {"beat_at": None}),
    lambda note: json.dumps(note | {"process": note["process"] | {"pid": "1"}}),
    lambda note: json.dumps(note | {"process": note["process"] | {"started": 3}}),
]


@pytest.mark.parametrize("odd", ODD_NOTES, ids=["deep", "number", "attempt", "beat", "pid", "start"])
def test_a_damaged_note_of_the_holder_counts_for_nothing(
    project: Project, odd: Callable[[dict[str, Any]], str]
) -> None:
    record(project)
    Ledger(project).begin(RUN, 1, dead())
    holder.note(project, Attempt(run_id=RUN, attempt=1, process=Process.this(), stage=None, group=None, beat_at=1.0))
    path = holder.place(project, RUN)
    path.write_text(odd(json.loads(path.read_text())))
    assert holder.noted(project, RUN) is None
    assert reap(project, print) == [RUN]


def test_a_damaged_record_keeps_mlflow_from_no_other_end(project: Project) -> None:
    """The damaged run is the first that the ledger tells of."""
    workspace = record(project)
    later = project.runs / "20261130-120001-abcdef"
    later.mkdir()
    runfile.write(later, (runfile.read(workspace) or {}) | {"run_id": later.name})
    for run_id in (RUN, later.name):
        Ledger(project).begin(run_id, 1, dead())
    reap(project, print)
    (workspace / runfile.NAME).write_text("{")
    tell_mlflow(project, print)
    assert [attempt.run_id for attempt in Ledger(project).untold()] == [RUN]


@pytest.mark.parametrize(
    ("seconds", "every_s", "writable", "expected"),
    [
        (80, 30, True, "running"),
        (130, 30, True, "crashed"),
        (150, 30, False, "running"),
        (3600, 3600, True, "running"),
    ],
    ids=["within the window", "beyond it", "an outage", "the machine slept"],
)
def test_silence_elsewhere(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    every_s: float,
    writable: bool,
    expected: str,
) -> None:
    record(project)
    Ledger(project).begin(RUN, 1, elsewhere())
    seen = Silence()
    seen.look()
    reap(project, print, seen)
    start = silence.time.monotonic()
    for step in range(1, int(seconds / every_s) + 1):
        monkeypatch.setattr(silence.time, "monotonic", lambda at=start + step * every_s: at)
        seen.look(writable)
        reap(project, print, seen)
    assert state(project) == expected


def test_a_heartbeat_ends_the_silence(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    record(project)
    Ledger(project).begin(RUN, 1, elsewhere())
    seen, start = Silence(), silence.time.monotonic()
    for step in range(20):
        monkeypatch.setattr(silence.time, "monotonic", lambda at=start + step * 30: at)
        if step % 2:
            Ledger(project).beat(RUN, 1, "train", None)
        seen.look()
        reap(project, print, seen)
    assert state(project) == "running"


def test_what_a_dead_run_left_running_is_ended(project: Project) -> None:
    record(project)
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    group = Process.of(left.pid)
    assert group is not None
    Ledger(project).begin(RUN, 1, dead())
    Ledger(project).beat(RUN, 1, "train", group)
    reap(project, print)
    assert left.wait(5) == -9
    assert session(group) == []


def test_what_a_dead_run_of_an_older_version_left_running_is_ended(project: Project) -> None:
    record(project)
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    group = Process.of(left.pid)
    assert group is not None
    Ledger(project).begin(RUN, 1, replace(dead(), started="1"))
    Ledger(project).beat(RUN, 1, "train", replace(group, started=group.started.partition("@")[0]))
    reap(project, print)
    assert left.wait(5) == -9


def test_what_the_ledger_could_not_be_told_is_closed_later(project: Project) -> None:
    record(project, state="cancelled", flow_run_id="f")
    Ledger(project).begin(RUN, 1, dead())
    with holding(project, RUN):
        close_ended(project)
        assert len(Ledger(project).running()) == 1
    close_ended(project)
    assert Ledger(project).running() == []
    assert [(row.reason, row.untold) for row in Ledger(project).untold()] == [("cancelled", ("mlflow", "prefect"))]


def test_a_used_number_of_a_group_is_left_alone(project: Project) -> None:
    record(project)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    group = Process.of(other.pid)
    assert group is not None
    Ledger(project).begin(RUN, 1, dead())
    Ledger(project).beat(RUN, 1, "train", replace(group, started="1"))
    reap(project, print)
    assert other.poll() is None
    other.kill()
    other.wait()


def test_mlflow_learns_of_a_death(project: Project) -> None:
    workspace = record(project)
    client = tracking.client(project)
    experiment = client.get_experiment_by_name(tracking.EXPERIMENT)
    assert experiment is not None
    client.create_run(experiment.experiment_id, run_name=RUN, tags={tracking.RUN_TAG: RUN})
    Ledger(project).begin(RUN, 1, dead())
    reap(project, print)
    tell_mlflow(project, print)
    run = tracking.find_run(client, RUN)
    assert run is not None
    assert run.info.status == "FAILED"
    assert "ended without a word" in run.data.tags[tracking.REASON_TAG]
    assert Ledger(project).untold() == []
    assert "pivotline resume" in str((runfile.read(workspace) or {})["message"])


@pytest.mark.parametrize(
    ("own", "owner", "words"),
    [
        ("done", None, f"run {RUN} is done: there is nothing to resume"),
        ("queued", None, f"run {RUN} is queued: there is nothing to resume"),
        ("running", Process.this, f"run {RUN} is running: there is nothing to resume; process {{pid}} on "),
    ],
)
def test_what_cannot_be_resumed_is_refused_in_a_sentence(project: Project, own: str, owner: Any, words: str) -> None:
    record(project, state=own)
    if owner:
        Ledger(project).begin(RUN, 1, owner())
    with pytest.raises(ValueError, match="there is nothing to resume") as caught:
        attempt.renew(project, RUN, resume=True, door="here")
    assert str(caught.value).startswith(words.format(pid=os.getpid()))


def test_a_dead_run_is_resumed_as_its_next_attempt(project: Project) -> None:
    workspace = record(project, stages={"preprocess": {"state": "done"}, "train": {"state": "running"}})
    Ledger(project).begin(RUN, 1, dead())
    renewed = attempt.renew(project, RUN, resume=True, door="here")
    assert (renewed["state"], renewed["attempt"], renewed["resume"]) == ("queued", 2, True)
    assert renewed["stages"] == {"preprocess": {"state": "done"}, "train": {"state": "waiting"}}
    with pytest.raises(ValueError, match="is queued"):
        attempt.renew(project, RUN, resume=True, door="here")
    assert runfile.read(workspace) == renewed


def test_a_foreground_run_that_never_began_is_found(project: Project) -> None:
    record(project, state="queued", door="here")
    assert reap(project, print) == []
    runfile.update(project.workspace(RUN), created_at="2026-01-01T00:00:00.000+00:00")
    assert reap(project, print) == [RUN]


def test_a_missing_worker_is_told(project: Project) -> None:
    assert not worker_service(project).up
    Ledger(project).worker_beat(dead())
    assert not worker_service(project).up
    Ledger(project).worker_beat(Process.this())
    assert worker_service(project).up
    Ledger(project).worker_end(Process.this())
    assert not worker_service(project).up


def test_no_attempt_begins_before_a_cancel_has_told_everybody(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(project, state="cancelled")
    monkeypatch.setattr(attempt, "CANCEL_S", 0.2)
    project.make_state()
    with cancel_lock(project, RUN), pytest.raises(ValueError, match="is still being cancelled: resume it"):
        attempt.renew(project, RUN, resume=True, door="here")
    assert attempt.renew(project, RUN, resume=True, door="here")["attempt"] == 2


def test_a_cancel_that_comes_late_leaves_a_further_attempt_alone(project: Project) -> None:
    workspace = record(project, attempt=2)
    mine = Process.this()
    Ledger(project).begin(RUN, 2, mine)
    cancellation.carry_out(project, RUN)
    assert mine.lives()
    assert state(project) == "running"
    assert "proof" not in (runfile.read(workspace) or {})
