"""`pivotline sync`: what MLflow missed while it was down."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from flows import output
from flows.errors import BAD_INPUT
from flows.project import find_project

if TYPE_CHECKING:
    from flows.sync import Synced


def sync(
    again: Annotated[
        bool, typer.Option("--again", help="Also record anew what MLflow has lost: with its database, or a version.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Bring MLflow level with the runs of this project: points, ends and versions that it did not take."""
    from flows import sync as syncing

    say = output.quiet if as_json else output.line
    done = syncing.sync(find_project(), say, again)
    output.show(asdict(done), as_json, lambda: [*done.notes, *ending(done)])
    if done.damaged:
        raise typer.Exit(BAD_INPUT)


def ending(done: "Synced") -> list[str]:
    if done.runs:
        versions = len(done.versions)
        return [f"{len(done.runs)} runs brought level, {done.points} points sent, {versions} versions registered"]
    return [] if done.notes else ["MLflow is level with every run."]
