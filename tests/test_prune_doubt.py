"""Pruning where a checkpoint says what is not so: it stays, the good ones around it too, and it is never used."""

import json
from pathlib import Path

import pytest
from test_prune import RUN, apply, checkpoints, project, steps_left

from flows import prune
from flows.params import PruneConfig
from flows.project import Project
from model.checkpoint import MANIFEST

__all__ = ["project"]


@pytest.mark.parametrize("step", [-5, 10**26, 2**53 - 1, "3", None])
@pytest.mark.parametrize("state", ["done", "crashed"])
def test_a_checkpoint_whose_step_is_not_so_stays_and_counts_for_nothing(
    project: Project, step: object, state: str
) -> None:
    root = checkpoints(project, RUN, (1, 2, 3, 4), best=1, state=state)
    path = root / "step-00000004" / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {"step": step}))
    (item,) = [item for item in prune.plan(project, PruneConfig(), None).items if item.path == path.parent]
    assert (item.goes, "is not known" in item.why or state == "crashed") == (False, True)
    apply(project)
    assert steps_left(root) == [1, 3]  # the best, and the last good one
    assert path.parent.is_dir()


def test_a_damaged_manifest_stops_no_pruning_of_another_run(project: Project) -> None:
    other = "20261130-120001-bbbbbb"
    spoiled, root = checkpoints(project, RUN, (1,), best=1), checkpoints(project, other, (1, 2, 3), best=1)
    Path(spoiled / "step-00000001" / MANIFEST).write_text("[" * 200_000)
    apply(project)
    assert steps_left(root) == [1, 3]
