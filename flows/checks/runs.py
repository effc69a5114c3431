"""Runs: each has ended, waits, or is run by a process that lives and says so."""

import os
import time
from collections.abc import Iterator
from typing import Any

from flows import protection, runfile, sync
from flows.checks.finding import Finding, broken, ok, warning
from flows.ledger import Ledger, LedgerError
from flows.life import is_being_cancelled, newest
from flows.project import Project
from flows.reaper import record_of, why
from flows.witness import is_open

SILENT_S = 180.0
LOST = f"put {runfile.NAME} back from a backup, or delete the run's folder when nothing in it is wanted"


def runs(project: Project) -> Iterator[Finding]:
    states: dict[str, int] = {}
    for run_id in protection.run_ids(project):
        try:
            record = runfile.read(project.workspace(run_id))
        except ValueError as error:
            ours = os.access(project.workspace(run_id) / runfile.NAME, os.R_OK)
            remedy = f"delete {project.workspace(run_id)} when nothing in it is wanted" if ours else "make it readable"
            yield broken("runs", str(error), remedy)
            continue
        if record is None:
            if protection.has_trained(project.workspace(run_id)):
                yield broken("runs", f"run {run_id} has lost its {runfile.NAME}, not its checkpoints", LOST)
            continue  # being made, or told with what is left over
        states[record["state"]] = states.get(record["state"], 0) + 1
        yield from life(project, record)
    told = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    yield ok("runs", told or "none yet")


def life(project: Project, record: dict[str, Any]) -> Iterator[Finding]:
    """What a run that has not ended says, against the processes and the ledger."""
    run_id = record["run_id"]
    if is_open(record) and not is_being_cancelled(project, run_id):
        text = f"run {run_id} was cancelled, and whoever was to prove that ended before the proof did"
        yield warning("runs", text, f"`pivotline cancel {run_id}` brings it to its end, and so does a worker")
    if record["state"] not in ("queued", "running"):
        return
    if reason := why(project, record, None):
        remedy = f"`pivotline resume {run_id}` goes on from its newest checkpoint"
        yield broken("runs", f"run {run_id} is {record['state']}, but {reason}", remedy)
        return
    attempt = newest(project, run_id)
    if record["state"] == "running" and attempt and time.time() - attempt.beat_at > SILENT_S:
        text = f"run {run_id} has said nothing for {time.time() - attempt.beat_at:.0f} s, though its process lives"
        yield warning("runs", text, f"wait, or `pivotline cancel {run_id}`")


def ledger(project: Project) -> Iterator[Finding]:
    """Attempts that the ledger holds for open, though their run has ended."""
    try:
        open_ones = Ledger(project).running() if (project.state / "ledger.db").exists() else []
    except LedgerError as error:
        yield broken("runs", str(error), "nothing: the next run or worker makes a new one, and no run is lost")
        return
    for attempt in open_ones:
        state = (record_of(project, attempt.run_id) or {}).get("state")
        here = attempt.process.is_here()
        if state in runfile.ENDED and here and not attempt.process.lives():
            text = f"the ledger holds attempt {attempt.attempt} of run {attempt.run_id} for running: it is {state}"
            yield warning("runs", text, "nothing: the next worker closes it")


def unsynced(project: Project) -> Iterator[Finding]:
    if waiting := sync.pending(project):
        text = f"{len(waiting)} runs wait for MLflow, the oldest is {waiting[0]}"
        yield warning("record", text, "`pivotline sync` brings MLflow level")
