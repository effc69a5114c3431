"""A stage is a process group: its lines are followed, its end is the end of everything it started."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from flows import lockfile, stages
from flows.errors import StageError, StageKilledError
from flows.project import Project

PIPELINE = """stages:
  {stage}:
    cmd: {command}
    deps: [given]
    outs: [made]
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(root=tmp_path, state=tmp_path / "state")


def workspace(project: Project, script: str, stage: str = "train") -> Path:
    folder = project.root / "run"
    (folder / ".dvc").mkdir(parents=True)
    config = f"[core]\n    no_scm = true\n    analytics = false\n[cache]\n    dir = {project.cache}\n"
    (folder / ".dvc" / "config").write_text(config)
    (folder / "given").write_text("x")
    (folder / "work.py").write_text(script)
    (folder / "dvc.yaml").write_text(PIPELINE.format(stage=stage, command="python work.py"))
    return folder


def test_a_stage_says_its_lines_and_is_restored_the_second_time(project: Project) -> None:
    folder = workspace(project, "from pathlib import Path; print('hello'); Path('made').write_text('m')")
    lines: list[str] = []
    first = stages.run_stage(project, folder, "train", lines.append)
    (folder / "dvc.lock").unlink()
    (folder / "made").unlink()
    second = stages.run_stage(project, folder, "train", lines.append)
    assert lines == ["hello"]
    assert (first.cached, second.cached) == (False, True)
    assert (folder / "made").read_text() == "m"
    assert "hello" in (folder / "logs" / "run.log").read_text()


def test_a_fresh_stage_runs_again_though_the_cache_knows_it(project: Project) -> None:
    folder = workspace(project, "from pathlib import Path; print('hello'); Path('made').write_text('m')")
    lines: list[str] = []
    for fresh in (False, True):
        done = stages.run_stage(project, folder, "train", lines.append, fresh=fresh)
        (folder / "dvc.lock").unlink()
        (folder / "made").unlink()
    assert lines == ["hello", "hello"]
    assert not done.cached


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{}",
        b"[]",
        b"\xf7\x00\x93",
        bytes(4096),
        b"schema: '2.0'\nstages:\n",
        b"schema: '2.0'\nstages: {train: x}\n",
    ],
)
def test_a_damaged_lock_file_is_set_aside_and_the_stage_has_the_same_bits(project: Project, damaged: bytes) -> None:
    folder = workspace(project, "from pathlib import Path; print('hello'); Path('made').write_text('m')")
    lines: list[str] = []
    stages.run_stage(project, folder, "train", lines.append)
    whole = (folder / "dvc.lock").read_bytes()
    (folder / "dvc.lock").write_bytes(damaged)
    assert stages.run_stage(project, folder, "train", lines.append).cached
    assert lines == ["hello", lockfile.SAID]
    assert (folder / "dvc.lock").read_bytes() == whole
    assert (folder / "dvc.lock.damaged").read_bytes() == damaged


TAKES = """
import yaml
from dvc.schema import COMPILED_LOCKFILE_SCHEMA as schema
from voluptuous import Invalid
content = open("dvc.lock").read()
for length in range(len(content) + 1):
    try:
        schema(yaml.safe_load(content[:length]))
        print(length)
    except (yaml.YAMLError, Invalid):
        pass
"""


def test_a_lock_file_is_taken_for_whole_only_where_dvc_takes_it(project: Project) -> None:
    """Wherever it is cut off."""
    folder = workspace(project, "from pathlib import Path; Path('made').write_text('m')")
    stages.run_stage(project, folder, "train", lambda line: None)
    content, cut = (folder / "dvc.lock").read_bytes(), folder / "cut"
    whole = set()
    for length in range(len(content) + 1):
        cut.write_bytes(content[:length])
        whole |= {length} if lockfile.is_whole(cut) else set()
    done = subprocess.run([sys.executable, "-c", TAKES], cwd=folder, capture_output=True, text=True, check=True)
    assert {len(content)} < whole <= {int(length) for length in done.stdout.split()}


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("raise ValueError('row 3: side is up')", 2, "row 3: side is up"),
        ("raise MemoryError('3 GB')", 3, "out of memory"),
        ("import os, errno; raise OSError(errno.ENOSPC, 'No space left on device', 'x')", 3, "No space left on device"),
        ("1 / 0", 5, "ZeroDivisionError"),
    ],
)
def test_a_stage_s_own_sentence_and_code_come_through(project: Project, script: str, code: int, words: str) -> None:
    body = f"from flows.errors import stage_main\ndef main():\n    {script}\nstage_main(main)\n"
    folder, lines = workspace(project, body), list[str]()
    with pytest.raises(StageError, match=words) as caught:
        stages.run_stage(project, folder, "train", lines.append)
    assert caught.value.code == code
    assert not [line for line in lines if line.lower().startswith("error")]  # whoever catches it says it, once
    assert words in (folder / "logs" / "run.log").read_text()


def test_a_stage_that_dies_without_a_word_is_named(project: Project) -> None:
    with pytest.raises(StageError, match="train ended with status"):
        stages.run_stage(project, workspace(project, "import os; os._exit(9)"), "train", lambda line: None)


TOLD = "import sys; from flows.stop import Stop; s = Stop(); s.can_save = True; print('up', flush=True); "
ENDINGS = [
    ("import os; os.kill(os.getpid(), 15)", "SIGTERM"),
    ("import os, signal; signal.signal(2, signal.default_int_handler); os.kill(os.getpid(), 2)", "SIGINT"),
    (f"{TOLD} import os; os.kill(os.getpid(), 15); s.leave()", "SIGTERM"),
    (f"{TOLD} import os; os.kill(os.getpid(), 2); s.leave()", "SIGINT"),
    ("import os; os.kill(os.getppid(), 15); import time; time.sleep(1)", "SIGTERM"),
]


@pytest.mark.parametrize(("script", "name"), ENDINGS, ids=["killed", "by Ctrl-C", "saved", "saved by Ctrl-C", "dvc"])
def test_a_stage_that_was_told_to_end_crashed_and_has_not_failed(project: Project, script: str, name: str) -> None:
    with pytest.raises(StageKilledError, match=rf"train was told to end from outside \({name}\); resume goes on"):
        stages.run_stage(project, workspace(project, script), "train", lambda line: None)


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"])
print("pids", os.getpid(), child.pid, flush=True)
time.sleep(600)
"""


def test_a_cancel_ends_children_that_ignore_signals(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "GRACE_S", 1.0)
    pids: list[int] = []

    def say(line: str) -> None:
        if line.startswith("pids"):
            pids.extend(int(word) for word in line.split()[1:])
            time.sleep(0.3)  # long enough for the child to ignore SIGTERM
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stages.run_stage(project, workspace(project, STUBBORN), "train", say)
    assert len(pids) == 2
    assert not [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]


def test_the_group_of_a_finished_process_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True, text=True)
    process.wait()
    assert stages.group_is_gone(process, 5.0)
    assert os.getpgrp() != process.pid
