"""A frozen run in the process of the command that asked for it."""

import signal
import sys

import typer

from flows import output
from flows.errors import SERVICE_DOWN
from flows.project import Project

CANCELLED = "cancelled; what was complete is kept"


def carry_on(project: Project, run_id: str, as_json: bool) -> None:
    """Runs a frozen run here, and shows what came of it."""
    for sign in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(sign) != signal.SIG_IGN:  # as `nohup` wants it
            signal.signal(sign, terminated)
    from flows.run import execute, plainly
    from flows.summary import describe

    say = output.quiet if as_json else output.line
    result = execute(project, project.workspace(run_id), plainly(say), say)
    output.show({"run_id": run_id, **result}, as_json, lambda: describe(run_id, result))
    if not result["recorded"]:
        kept = f"model and curves are kept in {project.workspace(run_id)}"
        output.quiet(f"error: trained, not recorded: MLflow did not take it; {kept}, and `pivotline sync` records them")
        raise typer.Exit(SERVICE_DOWN)


def terminated(sign: int, *_: object) -> None:
    """Ends a run on SIGTERM, or with its terminal, as Ctrl-C does: with its stage, written down as cancelled."""
    output.quiet(CANCELLED)
    sys.exit(128 + sign)
