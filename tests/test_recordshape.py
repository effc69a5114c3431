"""A run's record with a damaged value: refused where it is read, with its file, and shown as a failed run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows import runfile, runview
from flows.project import Project

RUN, OTHER = "20261130-080000-aaaaaa", "20261130-080001-bbbbbb"
MODEL = {"model": {"kind": "transformer", "preset": "lite"}}
GOOD = {"state": "done", "created_at": "2026-11-30T08:00:00+00:00", "dataset_version": "e62", "params": MODEL}
BAD: dict[str, tuple[Any, str]] = {
    "created_at": ("yesterday", "created_at is 'yesterday', expected a time with its zone"),
    "ended_at": ("2026-11-30T08:00:00", "ended_at is '2026-11-30T08:00:00', expected a time with its zone"),
    "state": ([1], "state is '[1]', expected one of queued, running"),
    "stages": (None, "stages is 'None', expected sections of values"),
    "params": (5, "params is '5', expected sections of values"),
    "attempt": ("two", "attempt is 'two', expected a whole number"),
    "result": ("done", "result is 'done', expected an object"),
    "proof": ("all", "proof is 'all', expected a list of texts"),
    "message": ({}, "message is '{}', expected text"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_value_is_named_and_hides_no_other_run(tmp_path: Path, name: str) -> None:
    value, words = BAD[name]
    damaged(tmp_path, json.dumps(record(RUN) | {name: value}), words)


@pytest.mark.parametrize(
    ("text", "words"),
    [("[" * 200_000, "recursion"), ("[]", "expected an object, got list"), ("{}", "expected run_id, state")],
)
def test_a_file_that_is_no_record_is_named(tmp_path: Path, text: str, words: str) -> None:
    damaged(tmp_path, text, words)


def folder_there(path: Path) -> None:
    path.mkdir()


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "words"), [(folder_there, "it is no file"), (link_to_itself, "Too many levels of symbolic links")]
)
def test_what_is_no_file_is_named_and_hides_no_other_run(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    damaged(tmp_path, "{}", "expected run_id")
    path = tmp_path / "state" / "runs" / RUN / runfile.NAME
    path.unlink()
    make(path)
    with pytest.raises(ValueError, match=f"cannot be read as a run's record: {words}"):
        runfile.read(path.parent)
    views = runview.collect(Project(root=tmp_path, state=tmp_path / "state"), lambda names: None, 9)
    assert [(view.run_id, view.state) for view in views] == [(OTHER, "done"), (RUN, "failed")]


def test_a_run_without_a_model_in_its_settings_is_shown_as_damaged(tmp_path: Path) -> None:
    project = Project(root=tmp_path, state=tmp_path / "state")
    project.workspace(RUN).mkdir(parents=True)
    runfile.write(project.workspace(RUN), record(RUN) | {"params": {}})
    (view,) = runview.collect(project, lambda names: None, 9)
    assert (view.state, view.name) == ("failed", "unknown on unknown")


def damaged(folder: Path, text: str, words: str) -> None:
    project = Project(root=folder, state=folder / "state")
    for run_id in (RUN, OTHER):
        project.workspace(run_id).mkdir(parents=True)
        runfile.write(project.workspace(run_id), record(run_id))
    path = project.workspace(RUN) / runfile.NAME
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be read as a run's record") as refused:
        runfile.read(path.parent)
    assert words in str(refused.value)
    views = runview.collect(project, lambda names: None, 9)
    assert [(view.run_id, view.state) for view in views] == [(OTHER, "done"), (RUN, "failed")]
    assert words in (views[1].message or "")


def record(run_id: str) -> dict[str, Any]:
    return {"run_id": run_id, "stages": {}, **GOOD}
