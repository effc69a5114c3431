"""`pivotline resume` and `pivotline retry`: another attempt of a run that ended early."""

from typing import Annotated

import typer

from flows import output
from flows.commands.foreground import carry_on
from flows.project import find_project

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Here = Annotated[bool, typer.Option("--here", help="In this process, without any server.")]


def resume(run_id: str, here: Here = False, as_json: Json = False) -> None:
    """Go on with a run that ended early, from its newest checkpoint."""
    again(run_id, True, here, as_json)


def retry(run_id: str, here: Here = False, as_json: Json = False) -> None:
    """Start a run that ended early anew, with its own settings and data."""
    again(run_id, False, here, as_json)


def again(run_id: str, resumed: bool, here: bool, as_json: bool) -> None:
    """Another attempt of a run: in the queue where a worker serves it, else in this process."""
    from dataclasses import asdict

    from flows.attempt import renew
    from flows.workers import worker_service

    project, say = find_project(), output.quiet if as_json else output.line
    if not here and worker_service(project).up:
        from flows import control

        done = control.resume(run_id) if resumed else control.retry(run_id)
        said = f"run {run_id} is queued in place {done.place}; follow it with `pivotline status {run_id}`"
        return output.show(asdict(done), as_json, lambda: [said])
    attempt = renew(project, run_id, resume=resumed, door="here")["attempt"]
    say(f"run {run_id}: attempt {attempt}, in this process")
    return carry_on(project, run_id, as_json)
