"""What killing runs came to: kills by stage, runs that ended as the undisturbed one, what the doctor found."""

from collections import Counter
from dataclasses import dataclass, field

from bench.claims import Claim

STAGES = ("preprocess", "train", "evaluate", "registering")


@dataclass
class Tally:
    """What happened so far."""

    kills: Counter[str] = field(default_factory=Counter)
    calls: list[int] = field(default_factory=list)  # file calls of the train stage at which it was killed
    lives: int = 0
    equal: int = 0
    examined: int = 0  # times the doctor was asked
    wrong: list[str] = field(default_factory=list)

    @property
    def killed(self) -> int:
        return sum(self.kills.values())


def table(tally: Tally) -> list[str]:
    stages = ", ".join(f"{tally.kills[name]} in {name}" for name in STAGES)
    calls = f"{len(tally.calls)} of those in train at a file call, {len(set(tally.calls))} different calls"
    ends = f"{tally.equal} of {tally.lives} runs ended with the bits of the undisturbed one and one version each"
    asked = f"the doctor was asked {tally.examined} times"
    return [f"{tally.killed} kills: {stages}", calls, ends, asked, *tally.wrong]


def claims(tally: Tally) -> list[Claim]:
    """Whether every run ended as the undisturbed one, and whether the doctor ever found a promise broken."""
    share = tally.equal / tally.lives if tally.lives else None
    what = f"runs with the bits of the undisturbed one, {tally.killed} kills over {tally.lives} runs"
    asked = f"promises the doctor found broken, asked {tally.examined} times"
    return [
        Claim(what=what, value=share, unit="of all", goal=">= 1"),
        Claim(what=asked, value=len(tally.wrong) if tally.examined else None, unit="", goal="<= 0"),
    ]
