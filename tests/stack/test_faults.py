"""Services that stop, hang and are killed while a run trains: it goes on or is said to be dead, and the queue moves."""

import base64
import json
import time
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from containers import LONG, SERVERS, SMALL, Stack, wait_for

OUTAGE_S, AWAY_S = 120, 180
HANG_S = 8  # less than a client waits for a server that is silent, more than an update takes on a busy machine
DEAD_S = 180  # the longest a run may be shown as running after its process died
WORKING = "ls -l /proc/[0-9]*/cwd"  # where each process works: that of a run in the run's workspace


def steps_at(stack: Stack, run_id: str) -> list[float]:
    """Seconds into the training at which each update was written down."""
    code, said = stack.inside("worker", "cat", f"/state/runs/{run_id}/journal/train.csv")
    assert code == 0, said
    header, *rows = [line.split(",") for line in said.split()]
    return [float(row[header.index("elapsed_s")]) for row in rows if len(row) == len(header)]


def longest_pause(stack: Stack, run_id: str) -> float:
    return max(later - earlier for earlier, later in pairwise(steps_at(stack, run_id)))


def ended(stack: Stack, run_id: str, limit_s: float = 400) -> dict[str, Any]:
    return stack.wait_for_state(run_id, "done", "failed", "crashed", "cancelled", limit_s=limit_s)


@pytest.fixture(autouse=True)
def nothing_runs(healthy: Stack) -> Iterator[None]:
    """A run that a failed test left behind would hold up all that follow."""
    yield
    healthy.up()
    for run in healthy.pivotline("status")["runs"]:
        if run["state"] in ("queued", "running"):
            healthy.pivotline("cancel", run["run_id"])
            healthy.wait_for_state(run["run_id"], "cancelled", "crashed", "failed", "done")


def test_a_second_run_waits_and_a_cancelled_one_is_gone_within_seconds(healthy: Stack) -> None:
    first = healthy.trigger(LONG)
    second = healthy.trigger(SMALL)
    healthy.wait_for_steps(first)
    assert healthy.status(second)["state"] == "queued"
    healthy.pivotline("cancel", first)
    healthy.wait_for_state(first, "cancelled")
    assert ended(healthy, second)["state"] == "done"
    assert first not in healthy.inside("worker", "sh", "-c", WORKING)[1]


def test_postgres_stopped_for_two_minutes_costs_the_run_nothing(healthy: Stack) -> None:
    """A run whose heartbeats could not be written is not dead. Its worker stops asking for other runs, and starts over
    once this one has ended."""
    run_id = healthy.trigger(LONG)
    healthy.wait_for_steps(run_id)
    healthy.compose("stop", "postgres")
    time.sleep(OUTAGE_S)
    assert healthy.status(run_id)["state"] == "running"
    healthy.compose("start", "postgres")
    healthy.wait_healthy(services=tuple(name for name in SERVERS if name != "worker"))
    time.sleep(60)  # whatever judges a silent run has had its time by then
    assert healthy.status(run_id)["state"] == "running"
    assert longest_pause(healthy, run_id) < HANG_S
    healthy.pivotline("cancel", run_id)
    healthy.wait_for_state(run_id, "cancelled")
    assert ended(healthy, healthy.trigger(SMALL))["state"] == "done"
    healthy.wait_healthy()


def told(stack: Stack, run_id: str) -> str:
    """What Prefect itself believes of a run."""
    login = base64.b64encode(f"pivotline:{stack.settings['PREFECT_PASSWORD']}".encode()).decode()
    asked = urllib.request.Request(
        f"{stack.address('prefect')}/api/flow_runs/filter",
        data=json.dumps({"flow_runs": {"name": {"any_": [run_id]}}}).encode(),
        headers={"Authorization": f"Basic {login}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        (found,) = json.load(answer)
    return str(found["state_type"])


def test_prefect_away_for_three_minutes_costs_the_run_nothing_and_it_hears_of_the_end(healthy: Stack) -> None:
    run_id = healthy.trigger(SMALL | {"train.epochs": 20, "train.patience_epochs": 20})
    healthy.wait_for_steps(run_id)
    healthy.compose("stop", "prefect")
    time.sleep(AWAY_S)
    healthy.compose("start", "prefect")
    healthy.wait_healthy()
    assert ended(healthy, run_id)["state"] == "done"
    wait_for("Prefect's word of the end", 300, lambda: told(healthy, run_id) == "COMPLETED")


def test_mlflow_that_hangs_slows_no_training(healthy: Stack) -> None:
    run_id = healthy.trigger(LONG)
    healthy.wait_for_steps(run_id)
    healthy.compose("pause", "mlflow")
    try:
        time.sleep(30)
        assert healthy.status(run_id)["state"] == "running"
        assert longest_pause(healthy, run_id) < HANG_S
    finally:
        healthy.compose("unpause", "mlflow")
    healthy.pivotline("cancel", run_id)
    healthy.wait_for_state(run_id, "cancelled")


def test_mlflow_down_at_the_end_keeps_the_trained_model(healthy: Stack) -> None:
    healthy.compose("stop", "mlflow")
    found = ended(healthy, healthy.trigger(SMALL))
    healthy.compose("start", "mlflow")
    assert found["state"] == "done"
    assert "not recorded" in found["message"]


def test_a_training_that_the_container_has_no_memory_for_says_so_and_the_next_one_runs(healthy: Stack) -> None:
    """The kernel kills in the worker's container alone; the worker says why the run ended, and takes the next one."""
    healthy.set("WORKER_MEMORY", "900m")
    healthy.up()
    try:
        wide = {
            "preprocess.seq_len": 200,
            "model.preset": "base",
            "train.batch_size": 180,
            "train.checkpointing": False,
        }
        found = ended(healthy, healthy.trigger(SMALL | wide))
        assert found["state"] == "crashed", found
        assert "out of memory" in found["message"], found
        assert ended(healthy, healthy.trigger(SMALL))["state"] == "done"
    finally:
        healthy.set("WORKER_MEMORY", "6g")
        healthy.up()


@pytest.mark.parametrize("how", ["killed", "removed"])
def test_a_run_whose_worker_dies_is_crashed_and_the_next_one_runs(healthy: Stack, how: str) -> None:
    """Killed from outside the worker comes back by itself; one that somebody removed comes back with `up`."""
    run_id = healthy.trigger(LONG)
    healthy.wait_for_steps(run_id)
    if how == "killed":
        healthy.kill("worker")
    else:
        healthy.compose("kill", "worker")
        healthy.compose("up", "--detach")
    healthy.wait_for_state(run_id, "crashed", limit_s=DEAD_S)
    assert ended(healthy, healthy.trigger(SMALL))["state"] == "done"
    assert healthy.status(run_id)["state"] == "crashed"


def test_a_run_whose_worker_stays_away_is_crashed_all_the_same(healthy: Stack) -> None:
    run_id = healthy.trigger(LONG)
    healthy.wait_for_steps(run_id)
    healthy.compose("kill", "worker")
    healthy.wait_for_state(run_id, "crashed", limit_s=DEAD_S)


@pytest.mark.parametrize("service", SERVERS)
def test_a_killed_server_comes_back_by_itself(healthy: Stack, service: str) -> None:
    before = healthy.container(service).attrs["State"]["Pid"]
    healthy.kill(service)
    wait_for(f"{service} again", 180, lambda: healthy.container(service).attrs["State"]["Pid"] not in (0, before))
    healthy.wait_healthy()


def test_all_killed_at_once_come_back_by_themselves_with_everything(healthy: Stack) -> None:
    done = ended(healthy, healthy.trigger(SMALL))
    for service in SERVERS:
        healthy.kill(service)
    wait_for("something down", 20, lambda: not all(healthy.healthy(service) for service in SERVERS))
    healthy.wait_healthy()
    assert healthy.status(done["run_id"])["result"] == done["result"]
    assert ended(healthy, healthy.trigger(SMALL))["state"] == "done"


def test_down_and_up_loses_nothing(healthy: Stack) -> None:
    before = healthy.pivotline("status")["runs"]
    healthy.compose("down")
    healthy.up()
    assert healthy.pivotline("status")["runs"] == before
