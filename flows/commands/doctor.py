"""`pivotline doctor`: whether every promise holds, and what to do where one does not."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from flows import output

if TYPE_CHECKING:
    from flows.doctor import Report

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Deep = Annotated[bool, typer.Option("--deep", help="Hash the whole dataset cache, not just the current version.")]


def doctor(deep: Deep = False, as_json: Json = False) -> None:
    """Look at everything that Pivotline promises and say what does not hold; exit 0 if all of it does."""
    from flows import doctor as doctors

    report = doctors.doctor(deep)
    found = {"healthy": report.healthy, "findings": [asdict(entry) for entry in report.findings]}
    output.show(found, as_json, lambda: lines(report))
    raise typer.Exit(report.code)


def lines(report: "Report") -> list[str]:
    rows = [
        (entry.level, entry.area, entry.text + (f": {entry.remedy}" if entry.remedy else ""))
        for entry in report.findings
    ]
    end = "All promises hold." if report.healthy else "Not all promises hold."
    return [*output.table(rows), "", end]
