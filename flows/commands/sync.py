"""`pivotline sync`: what MLflow missed while it was down."""

from dataclasses import asdict
from typing import Annotated

import typer

from flows import output
from flows.project import find_project


def sync(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Bring MLflow level with the runs of this project: points, ends and versions that it did not take."""
    from flows import sync as syncing

    say = output.quiet if as_json else output.line
    done = syncing.sync(find_project(), say)
    said = f"{len(done.runs)} runs brought level, {done.points} points sent, {len(done.versions)} versions registered"
    output.show(asdict(done), as_json, lambda: [*done.notes, said if done.runs else "MLflow is level with every run."])
