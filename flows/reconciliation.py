"""Sets right what Prefect believes of runs: it sees no processes, and misses what happens while it is down."""

from collections.abc import Callable
from typing import Any

from flows import queue, runfile
from flows.ledger import Attempt, Ledger
from flows.life import is_held
from flows.places import in_order
from flows.project import Project
from flows.reaper import record_of, records
from flows.runview import STATES
from flows.silence import Silence

PENDING_S = 60.0  # a flow run that its worker took begins within seconds
CLOSING_S = 20.0  # a flow run says its end within seconds of its run's
Say = Callable[[str], None]


def reconcile(project: Project, say: Say, silence: Silence) -> None:
    """One round. Raises ServiceDownError when Prefect does not answer."""
    believed = queue.unfinished()
    for flow_run in believed:
        if runfile.RUN_ID.fullmatch(flow_run.name):
            correct(project, flow_run, say, silence)
    known = {flow_run.name for flow_run in believed}
    for record in in_order(records(project, ("queued",)), {}):
        if record.get("door") == "queue" and record["run_id"] not in known:
            requeue(project, record, say)
    for attempt in Ledger(project).untold():
        if "prefect" in attempt.untold:
            settle(project, attempt, say, silence)


def settle(project: Project, attempt: Attempt, say: Say, silence: Silence) -> None:
    """Makes Prefect say how a run ended; what the run's own process and its worker say meanwhile comes first.

    A worker whose flow run was killed reports a crash, also of one that was cancelled, and of one that was done where
    Prefect did not take that.
    """
    record = record_of(project, attempt.run_id)
    if record is None:
        return None
    flow_run_id, state = record.get("flow_run_id"), str(record.get("state"))
    found = queue.find(flow_run_id) if flow_run_id and record.get("attempt", 1) == attempt.attempt else None
    if found is None or found.state is None or state not in queue.ENDS:
        return Ledger(project).told(attempt.run_id, attempt.attempt, "prefect")
    if silence.lasts_s((flow_run_id, "end"), found.state.type) <= CLOSING_S:
        return None
    if STATES[found.state.type.value] == state:
        return Ledger(project).told(attempt.run_id, attempt.attempt, "prefect")
    queue.end(str(flow_run_id), state, record.get("message") or "its run has ended")
    return say(f"Prefect knows now how run {attempt.run_id} ended")


def correct(project: Project, flow_run: Any, say: Say, silence: Silence) -> None:
    """Ends a flow run whose run has ended; frees one that was taken by a worker and never began."""
    record = record_of(project, flow_run.name)
    if record is None or is_held(project, flow_run.name):
        return
    state, kind, flow_run_id = record.get("state"), flow_run.state.type.value, str(flow_run.id)
    lasts_s = silence.lasts_s(flow_run_id, (state, kind, record.get("attempt")))
    other = record.get("flow_run_id") not in (None, flow_run_id)
    if (state in queue.ENDS or other) and lasts_s > CLOSING_S:
        queue.end(flow_run_id, "crashed" if other else str(state), record.get("message") or "its run has ended")
        say(f"Prefect knows now how run {flow_run.name} ended")
    elif state == "queued" and kind == "PENDING" and lasts_s > PENDING_S:
        queue.requeue(flow_run_id)
        say(f"run {flow_run.name} is back in the queue: its worker ended before it began")


def requeue(project: Project, record: dict[str, Any], say: Say) -> None:
    """Queues a run that Prefect does not have, or takes over how Prefect's flow run ended before it began."""
    run_id = record["run_id"]
    flow_run_id = queue.submit(run_id, record.get("attempt", 1))
    found = queue.find(flow_run_id)
    kind = found.state.type.value if found and found.state else "SCHEDULED"
    with runfile.claimed(project, run_id):
        if (runfile.read(project.workspace(run_id)) or {}) != record:
            return
        ended = {"state": STATES[kind], "ended_at": runfile.now()} if STATES[kind] in queue.ENDS else {}
        word = unbegun(found) if ended else None
        runfile.update(project.workspace(run_id), flow_run_id=flow_run_id, message=word, **ended)
    if ended or record.get("flow_run_id") != flow_run_id:
        say(f"run {run_id}: {word or 'is in the queue again'}")


def unbegun(flow_run: Any) -> str:
    """What Prefect says of a flow run that ended before its run began."""
    why = (flow_run.state.message or "").strip().splitlines()
    word = f"Prefect ended it as {STATES[flow_run.state.type.value]} before it began"
    return f"{word}: {why[0][:200]}" if why else word
