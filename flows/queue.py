"""Prefect as the queue: what waits and runs there, and how its states are set right."""

import itertools
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterName,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Completed, Crashed, Failed, Scheduled

from flows.addresses import prefect_url
from flows.errors import ServiceDownError
from flows.health import ASK_S, REMEDY, ask

DEPLOYMENT = "pivotline/local"
ANSWER_S = 10.0  # for an order, which is worth a wait at a busy server; a look is not
LISTED = 200  # the most that Prefect lists at once
UNFINISHED = [
    StateType.SCHEDULED,
    StateType.PENDING,
    StateType.RUNNING,
    StateType.PAUSED,
    StateType.CANCELLING,
]
ENDS = {"done": Completed, "failed": Failed, "crashed": Crashed, "cancelled": Cancelled}


@contextmanager
def prefect(wait_s: float = ANSWER_S) -> Iterator[SyncPrefectClient]:
    """A client of the Prefect server; raises ServiceDownError with the remedy when it does not answer in time."""
    url = prefect_url()
    health = ask("Prefect", url, f"{url}/health", wait_s)
    if not health.up:
        raise ServiceDownError(f"Prefect {health.detail}; {REMEDY}")
    try:
        with SyncPrefectClient(
            url, auth_string=os.environ.get("PREFECT_API_AUTH_STRING"), httpx_settings=settings(url, wait_s)
        ) as client:
            yield client
    except httpx.HTTPStatusError as error:
        raise ServiceDownError(f"Prefect at {url} {fault(error.response.status_code)}") from error
    except httpx.TransportError as error:
        raise ServiceDownError(f"Prefect does not answer at {url} ({type(error).__name__}); {REMEDY}") from error


def fault(status: int) -> str:
    """What an answer that is no answer says of Prefect; 500 is what comes of a database that cannot be written."""
    why = ": its database cannot be used, its disk may be full; its own log tells" if status >= 500 else ""
    return f"answers with status {status}{why}"


def settings(url: str, wait_s: float) -> dict[str, Any]:
    """Of the connection. Without TLS no certificates are read, which takes longer than the question itself."""
    return {"timeout": max(wait_s, 5.0)} | ({} if url.startswith("https:") else {"verify": False})


def check() -> None:
    """Raises ServiceDownError unless Prefect answers and knows our deployment."""
    with prefect() as client:
        deployment(client)


def deployment(client: SyncPrefectClient) -> str:
    try:
        return str(client.read_deployment_by_name(DEPLOYMENT).id)
    except ObjectNotFound:
        raise ServiceDownError(f"no worker has served {DEPLOYMENT} yet; {REMEDY}") from None


def submit(run_id: str, attempt: int) -> str:
    """Puts an attempt of a run into the queue, once however often it is asked; the id of its flow run."""
    with prefect() as client:
        made = client.create_flow_run_from_deployment(
            deployment(client),  # type: ignore[arg-type]
            parameters={"run_id": run_id},
            idempotency_key=run_id if attempt == 1 else f"{run_id}.{attempt}",
            name=run_id,
        )
    return str(made.id)


def flow_runs(run_ids: Collection[str]) -> dict[str, FlowRun] | None:
    """Prefect's newest flow run of each of these runs, None when Prefect does not answer. Of none, nothing is asked."""
    if not run_ids:
        return {}
    wanted = FlowRunFilter(name=FlowRunFilterName(any_=list(run_ids)))
    newest: dict[str, FlowRun] = {}
    try:
        with prefect(ASK_S) as client:
            for entry in listed(client, wanted):
                newest.setdefault(entry.name, entry)
    except ServiceDownError:
        return None
    return newest


def listed(client: SyncPrefectClient, wanted: FlowRunFilter) -> Iterator[FlowRun]:
    """All flow runs that fit, those that start last first, page by page."""
    for offset in itertools.count(0, LISTED):
        page = client.read_flow_runs(
            flow_run_filter=wanted, sort=FlowRunSort.EXPECTED_START_TIME_DESC, limit=LISTED, offset=offset
        )
        yield from page
        if len(page) < LISTED:
            return


def unfinished() -> list[FlowRun]:
    """The flow runs of our deployment that wait or run, as Prefect believes. Raises ServiceDownError."""
    waiting = FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=UNFINISHED)))
    with prefect() as client:
        wanted = deployment(client)
        return [entry for entry in listed(client, waiting) if str(entry.deployment_id) == wanted]


def find(flow_run_id: str) -> FlowRun | None:
    """One flow run; None when Prefect does not know it. Raises ServiceDownError."""
    with prefect() as client:
        try:
            return client.read_flow_run(flow_run_id)  # type: ignore[arg-type]
        except ObjectNotFound:
            return None


def end(flow_run_id: str, state: str, message: str) -> None:
    """Makes Prefect say that a flow run ended as the run did, whatever it believes. Raises ServiceDownError."""
    set_state(flow_run_id, ENDS[state](message=message))


def requeue(flow_run_id: str) -> None:
    """Puts a flow run that its worker took and lost back into the queue. Raises ServiceDownError."""
    set_state(flow_run_id, Scheduled(message="its worker ended before it began"))


def set_state(flow_run_id: str, state: State) -> None:
    with prefect() as client:
        client.set_flow_run_state(flow_run_id, state, force=True)
