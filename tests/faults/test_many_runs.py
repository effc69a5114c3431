"""Many orders at once: all run, one at a time, in the order of asking, and each is registered once.

The real stages on the sample dataset. `PIVOTLINE_TRIAL_RUNS=30 pytest tests/faults/test_many_runs.py` tries thirty.
"""

import os
import signal
from itertools import pairwise

import pytest
from checkout import copy_project
from scripted import pivotline, record, wait_for
from serving import serving, worker

from flows import control, registry, tracking

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
RUNS = int(os.environ.get("PIVOTLINE_TRIAL_RUNS", "4"))
SETTINGS = {"preprocess": {"seq_len": 12, "holds_per_trade": 1, "no_trades_per_trade": 0}}


def test_many_orders_run_in_order_and_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    project = copy_project(tmp_path_factory.mktemp("many") / "project", SETTINGS)
    with serving(project):
        serves = worker(project)
        try:
            keys = [control.new_key() for _ in range(RUNS)]
            asked = [control.trigger({}, key=key).run_id for key in [*keys, keys[0], keys[-1]]]
            assert asked == [*keys, keys[0], keys[-1]]
            wait_for(lambda: all(view.state == "done" for view in control.runs(RUNS + 2)), 60.0 * RUNS)
            assert {view.run_id for view in control.runs(RUNS + 2)} == set(keys)
        finally:
            os.kill(serves.pid, signal.SIGTERM)
            serves.wait(60)
    found = [record(project.workspace(key)) for key in keys]
    assert all(before["ended_at"] <= after["started_at"] for before, after in pairwise(found))
    assert [entry["attempt"] for entry in found] == [1] * RUNS
    client = tracking.client(project)
    registered = [entry.run_id for entry in reversed(registry.views(client, "pivotline"))]
    assert registered == keys
    code, said = pivotline(project, "doctor", "--json")
    assert code == 0, said
