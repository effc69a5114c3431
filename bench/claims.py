"""What a bench found: measured numbers beside their goals, with the machine they were measured on."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from model.device import cpu_capability

THREADS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """One measured number and what it should be; `value` None = not measured, and `note` says why."""

    what: str
    value: float | None
    unit: str
    goal: str  # "<= 1.02", ">= 2.5", or "" where the number is only reported
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None if there is no goal or no number."""
        if self.value is None or not self.goal:
            return None
        sign, bound = self.goal.split()
        return bool(self.value <= float(bound) if sign == "<=" else self.value >= float(bound))


def machine() -> dict[str, Any]:
    """What the numbers depend on besides the code."""
    return {
        "cpu": cpu_name(),
        "capability": cpu_capability(),
        "cores": os.cpu_count(),
        "threads": THREADS,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def cpu_name() -> str:
    """The processor as the system calls it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def finish(out: Path, claims: list[Claim], details: Any) -> None:
    """Prints each claim beside its goal and writes them with all details as JSON."""
    for claim in claims:
        print(sentence(claim))
    found = {"machine": machine(), "claims": [asdict(claim) | {"met": claim.met} for claim in claims]}
    out.write_text(json.dumps(found | {"details": details}, indent=1) + "\n", encoding="utf-8")


def sentence(claim: Claim) -> str:
    """A claim in one line: what, how much, the goal and whether it is met."""
    words = {True: "met", False: "missed", None: ""}
    number = "not measured" if claim.value is None else f"{claim.value:.3g} {claim.unit}".strip()
    goal = f" (goal {claim.goal}: {words[claim.met]})" if claim.goal and claim.value is not None else ""
    return f"{claim.what}: {number}{goal}{f'; {claim.note}' if claim.note else ''}"
