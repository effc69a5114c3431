"""The train stage under signals: whatever ends it, it goes on to the bits, and the curves, of an undisturbed one."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from stage import UPDATES, history, make, run, start, wait_for_updates

from flows.checkpoints import resumable_step
from flows.curves import read_curves
from flows.process import Process
from model.manifest import MANIFEST, OPTIMIZER, STATE, WEIGHTS, latest, list_complete

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose training was never disturbed."""
    folder = make(tmp_path_factory.mktemp("whole") / "run")
    code, said = run(folder)
    assert code == 0, said
    return folder


def goes_on(folder: Path, whole: Path, at_most: int | None = None) -> str:
    """Resumes to the end, to the same bits; with `at_most` so many updates repeated. What the stage said."""
    code, said = run(folder, resume=True)
    assert code == 0, said
    assert history(folder) == history(whole)
    if at_most is not None:
        assert repeated(said) <= at_most, said
    return said


def repeated(said: str) -> int:
    found = re.search(r"(\d+) updates? (?:is|are) repeated", said)
    return int(found[1]) if found else 0


def journal_lines(folder: Path) -> int:
    """Lines of the training journal; 0 in the moment when a new attempt has put the old one away."""
    try:
        return (folder / "journal" / "train.csv").read_text("utf-8").count("\n")
    except FileNotFoundError:
        return 0


@pytest.mark.parametrize("updates", [1, 3, 5, 7])
def test_killed_between_two_updates(tmp_path: Path, whole: Path, updates: int) -> None:
    folder = make(tmp_path / "run", whole)
    stage = start(folder)
    wait_for_updates(folder, stage, updates)
    stage.kill()
    goes_on(folder, whole, at_most=3)


def test_killed_at_each_file_call_in_turn(tmp_path: Path, whole: Path) -> None:
    """Each attempt goes on from the last and dies one file call later, until one comes through."""
    folder, calls, code = make(tmp_path / "run", whole), 0, -1
    while code:
        calls += 1
        code, said = run(folder, resume=calls > 1, fault=f"kill:{calls}")
        assert code in (0, -signal.SIGKILL), said
        assert repeated(said) <= 3, said
        assert all(entry.step <= UPDATES for entry in list_complete(folder / "checkpoints"))
    assert calls > 10
    assert history(folder) == history(whole)


def test_a_retry_that_is_killed_at_once_does_not_borrow_the_checkpoints_of_the_first_try(
    tmp_path: Path, whole: Path
) -> None:
    """What it was told is to start anew, whatever the first try has left."""
    folder = make(tmp_path / "run", whole)
    run(folder)
    stage = start(folder)
    while not 0 < journal_lines(folder) <= UPDATES:
        time.sleep(0.001)
    stage.kill()
    assert list_complete(folder / "checkpoints")[-1].step == UPDATES
    assert resumable_step(folder, {}) is None
    assert "training starts anew" in goes_on(folder, whole)


def test_told_to_end_before_the_first_update(tmp_path: Path, whole: Path) -> None:
    folder = make(tmp_path / "run", whole)
    stage = start(folder)
    os.kill(stage.pid, signal.SIGTERM)
    assert stage.wait(8) in (-signal.SIGTERM, 143)
    assert "training starts anew" in goes_on(folder, whole, at_most=0)


def test_told_to_end_it_saves_at_the_next_update(tmp_path: Path, whole: Path) -> None:
    folder = make(tmp_path / "run", whole, checkpoint_every_updates=0)
    stage = start(folder)
    wait_for_updates(folder, stage, 4)
    os.kill(stage.pid, signal.SIGTERM)
    assert stage.wait(8) == 143
    point = latest(folder / "checkpoints")
    assert point is not None
    assert f"update {point.step} is saved" in stage.said()
    assert not (folder / "artifacts" / "model").exists()
    goes_on(folder, whole, at_most=0)  # how often it saves decides no bit


@pytest.mark.parametrize("calls", [4, 10])
def test_told_to_end_in_the_middle_of_a_save(tmp_path: Path, whole: Path, calls: int) -> None:
    folder = make(tmp_path / "run", whole)
    code, said = run(folder, fault=f"term:{calls}")
    assert code == 143, said
    goes_on(folder, whole, at_most=0)


def test_it_ends_with_its_owner_and_frees_the_device(tmp_path: Path, whole: Path) -> None:
    folder = make(tmp_path / "run", whole)
    keeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    name = Process.of(keeper.pid)
    assert name is not None
    stage = start(folder, owner=f"{name.pid}:{name.started}")
    wait_for_updates(folder, stage, 1)
    os.kill(stage.pid, signal.SIGSTOP)  # so that it does not come to its end meanwhile
    keeper.kill()
    keeper.wait()
    os.kill(stage.pid, signal.SIGCONT)
    stage.wait(3)
    FileLock(tmp_path / "state" / "locks" / "device.lock").acquire(timeout=0)
    goes_on(folder, whole, at_most=3)


def test_the_second_of_two_waits_and_says_for_whom(tmp_path: Path, whole: Path) -> None:
    folders = [make(tmp_path / name, whole) for name in ("first", "second")]
    one = start(folders[0])
    wait_for_updates(folders[0], one, 1)
    os.kill(one.pid, signal.SIGSTOP)
    two = start(folders[1])
    while "waiting" not in two.said():
        time.sleep(0.02)
    os.kill(one.pid, signal.SIGCONT)
    assert f"waiting: run first (process {one.pid}) uses the device\n" in two.said()
    for stage, folder in zip((one, two), folders, strict=True):
        assert stage.wait() == 0
        assert history(folder) == history(whole)


@pytest.mark.parametrize(
    ("name", "cut"), [(WEIGHTS, 0.5), (OPTIMIZER, -1), (STATE, 0), (MANIFEST, 0), (MANIFEST, None)]
)
def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_used(
    tmp_path: Path, whole: Path, name: str, cut: float | None
) -> None:
    folder = make(tmp_path / "run", whole)
    assert run(folder, fault="kill:40")[0] == -signal.SIGKILL
    before, newest = [entry for entry in list_complete(folder / "checkpoints") if entry.resumable][-2:]
    file = newest.path / name
    content = file.read_bytes()
    file.write_bytes(content[: {0: 0, 0.5: len(content) // 2}.get(cut or 0, -1)])
    if cut is None:
        file.unlink()
    said = goes_on(folder, whole)
    assert f"note: checkpoint passed over: {newest.path.relative_to(folder)}" in said
    assert f"going on from the checkpoint of update {before.step}; " in said
    assert repeated(said) >= newest.step - before.step


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (lambda text: text.replace("\n2,", "\n\x00garbage,"), "2"),
        (lambda text: "\x00" * len(text), r"1 to \d+"),
        (lambda text: "", r"1 to \d+"),
    ],
)
def test_damaged_curves_cost_their_rows_and_no_checkpoint(
    tmp_path: Path, whole: Path, damage: Callable[[str], str], lost: str
) -> None:
    folder = make(tmp_path / "run", whole)
    assert run(folder, fault="kill:40")[0] == -signal.SIGKILL
    newest = [entry for entry in list_complete(folder / "checkpoints") if entry.resumable][-1]
    curve = folder / "journal" / "train.csv"
    curve.write_text(damage(curve.read_text("utf-8")), "utf-8")
    code, said = run(folder, resume=True)
    assert code == 0, said
    assert re.search(rf"note: journal/train\.csv is damaged: the curves lack the updates {lost}\n", said), said
    assert f"going on from the checkpoint of update {newest.step}" in said
    weights = Path("artifacts", "model", WEIGHTS)
    assert (folder / weights).read_bytes() == (whole / weights).read_bytes()
    assert [int(row["step"]) for row in read_curves(folder)["train"]][-1] == UPDATES


def test_a_checkpoint_of_other_settings_is_named_with_what_differs(tmp_path: Path, whole: Path) -> None:
    folder = make(tmp_path / "run", seed=8)
    for name in ("checkpoints", "journal"):
        shutil.copytree(whole / name, folder / name)
    _, said = run(folder, resume=True)
    assert "train.seed is 7, expected 8" in said
    assert "no checkpoint to go on from: training starts anew" in said


def test_a_loss_that_is_no_number_stops_and_is_told(tmp_path: Path, whole: Path) -> None:
    folder = make(tmp_path / "run", whole)
    code, said = run(folder, fault="nan:7")
    assert code == 2, said
    assert "error: diverged: training stopped at update 7 (epoch 3): the loss is nan" in said
    assert "Traceback" not in said
    rows = (folder / "journal" / "train.csv").read_text().splitlines()
    assert rows[-1].startswith("7,3,")
    assert rows[-1].endswith(",,,")  # a gap in the chart
    assert [entry.step for entry in list_complete(folder / "checkpoints")][-1] == 6
    assert not (folder / "artifacts" / "model").exists()
