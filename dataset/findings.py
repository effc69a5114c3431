"""Findings: what is wrong with an input, told by file, row, field and rule."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule; an error stops the data from being used, a warning is shown."""

    file: str  # relative to the data root
    row: int | None  # the header is row 1; None if the whole file is meant
    field: str
    rule: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        where = self.file if self.row is None else f"{self.file} row {self.row}"
        return (
            f"{where}, {self.field}: {self.message} ({self.rule})"
            if self.field
            else f"{where}: {self.message} ({self.rule})"
        )


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that stop the data from being used."""
    return [finding for finding in findings if finding.severity == "error"]


def refuse(findings: Iterable[Finding]) -> None:
    """Stop if there is any error: the first sentence first, then every other one, a line each.

    Raises ValueError.
    """
    found = errors(findings)
    if found:
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        raise ValueError("\n".join([f"{found[0]}{more}", *map(str, found[1:])]))
