"""`pivotline registry`: registered versions, and which of them is the champion."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from flows.output import show, table

if TYPE_CHECKING:
    from flows.versionview import VersionView

Row = tuple[str, str, str, str, str, str, str, str]

app = typer.Typer(no_args_is_help=True, help="Registered versions: list, promote, roll back.")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the champion's history.")]


@app.callback()
def group() -> None:
    """Registered versions: list, promote, roll back."""


@app.command("list")
def list_versions(as_json: Json = False) -> None:
    """Every registered version, newest first, with its score and the aliases that point to it."""
    from flows import models

    found = models.versions()
    show({"versions": [asdict(entry) for entry in found]}, as_json, lambda: lines(found))


@app.command()
def promote(version: int, reason: Reason, as_json: Json = False) -> None:
    """Make a version the champion."""
    from flows import models

    said = models.promote(version, reason)
    show({"version": version, "said": said}, as_json, lambda: [said])


@app.command("roll-back")
def roll_back(reason: Reason, as_json: Json = False) -> None:
    """Make the version champion that was it before."""
    from flows import models

    said = models.roll_back(reason)
    show({"said": said}, as_json, lambda: [said])


def lines(found: "list[VersionView]") -> list[str]:
    if not found:
        return ["No version is registered yet: `pivotline run` registers the first."]
    rows: list[tuple[str, ...]] = [
        ("version", "aliases", "model", "dataset", "score", "95 % interval", "chance", "run")
    ]
    rows += [row(entry) for entry in found]
    return [
        *table(rows, right=(0, 4, 5, 6)),
        *(f"version {entry.version}: {entry.reason}" for entry in found if entry.reason),
    ]


def row(entry: "VersionView") -> Row:
    dataset = entry.dataset_version[:7] + (" simulated" if entry.simulated else "")
    between = "—" if entry.interval is None else f"{100 * entry.interval[0]:.1f} to {100 * entry.interval[1]:.1f} %"
    score = "—" if entry.score is None else f"{100 * entry.score:.1f} %"
    return (
        str(entry.version),
        ", ".join(entry.aliases),
        f"{entry.kind} {entry.preset}".strip(),
        dataset,
        score,
        between,
        f"{100 * entry.chance:.1f} %",
        entry.run_id,
    )
