"""The Prefect flow: the plain run with each step as a task, served as the deployment `pivotline/local`."""

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prefect import flow, get_run_logger, task
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run
from prefect.settings import PREFECT_RUNNER_POLL_FREQUENCY, temporary_settings
from prefect.states import Cancelled, Completed, State

from flows import output, owner, runfile
from flows.attempt import renew
from flows.catching_up import follow
from flows.errors import CancelledError
from flows.patrol import Patrol
from flows.project import find_project
from flows.workspace import create

if TYPE_CHECKING:
    from flows.run import Outcome, Say

FLOW, DEPLOYMENT = "pivotline", "local"
POLL_S = 2  # how often the worker asks for the next run; set here, for Prefect has read its environment by now
END_S = 20.0  # for a run to save and write down its end once its worker is gone


def as_task(name: str, body: "Callable[[Say], Outcome]") -> "Outcome":
    """One step as a Prefect task; a stage restored from the cache ends in the state `Cached`."""
    outcome: Outcome = {}

    @task(name=name, task_run_name=name, persist_result=False)
    def step() -> State[Any] | None:
        outcome.update(body(get_run_logger().info))
        if outcome["state"] == "cached":
            return Completed(name="Cached", message=f"{name} was restored from the run cache")
        return None

    step()
    return outcome


@flow(name=FLOW, persist_result=False, validate_parameters=True)
def pipeline(run_id: str | None = None, changes: dict[str, dict[str, Any]] | None = None) -> State[Any] | None:
    """Preprocess, train, evaluate, register, prune in the workspace of `run_id`.

    The workspace was frozen when the run was asked for; a run started from elsewhere (a schedule, the Prefect page)
    gets one now, with `changes` (section -> key -> value) on top of `params.yaml`. A run that ended early goes on: so
    Prefect's own retry works.
    """
    from flows.run import execute  # hundreds of MB of libraries, which the process that only serves can do without

    owner.watch(END_S)
    project = find_project()
    if run_id is None:
        run_id = adopt()
    workspace = create(project, run_id, changes or {}, door="queue")
    if (runfile.read(workspace) or {}).get("state") in ("failed", "crashed"):
        renew(project, run_id, resume=True, door="queue")
    try:
        result = execute(project, workspace, as_task, get_run_logger().info, flow_run_id=str(flow_run.id))
    except CancelledError as error:
        return Cancelled(message=str(error))
    finally:
        gc.freeze()  # else this process takes 2 s to end, for which the next run waits
    return None if result["recorded"] else Completed(message="trained, not recorded: MLflow did not take it")


def adopt() -> str:
    """A run id for a flow run that came without one; the flow run is renamed to it."""
    started = flow_run.scheduled_start_time
    run_id = runfile.check_run_id(f"{started:%Y%m%d-%H%M%S}-{flow_run.id.replace('-', '')[:6]}")
    with get_client(sync_client=True) as client:
        client.update_flow_run(flow_run.id, name=run_id)
    return run_id


def serve() -> None:
    """Serves the flow, one run at a time, until it is told to stop; finds dead runs at its start and from then on."""
    patrol = Patrol(find_project(), output.line)
    patrol.start()
    follow(find_project(), output.line)
    try:
        with temporary_settings(set_defaults={PREFECT_RUNNER_POLL_FREQUENCY: POLL_S}):
            pipeline.serve(name=DEPLOYMENT, limit=1, pause_on_shutdown=False, print_starting_message=False)
    finally:
        patrol.end()
