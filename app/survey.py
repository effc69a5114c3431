"""The plans that the Memory page draws around the training that is looked at."""

from dataclasses import dataclass
from typing import Any

from app.plans import PLANNER, Ask
from flows.runview import RunView
from model.kinds import preset
from model.plan import Plan

BATCHES = (1, 128)
LENGTHS = (50, 600)
PRECISIONS = ("fp32", "bf16")

Asks = dict[str, dict[Any, Ask]]
Plans = dict[Any, Plan]


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The training that is looked at."""

    kind: str
    preset: str
    seq_len: int
    precision: str
    checkpointing: bool
    batch: int

    def ask(self, samples: tuple[int, int] | None, **changes: Any) -> Ask:
        values: dict[str, Any] = {
            "batch": self.batch,
            "seq_len": self.seq_len,
            "precision": self.precision,
            "checkpointing": self.checkpointing,
        }
        return Ask(config=preset(self.kind, self.preset), samples=samples, **(values | changes))

    def matches(self, view: RunView) -> bool:
        """Whether a run was this training."""
        model, train = view.params["model"], view.params["train"]
        asked = (model["kind"], model["preset"], view.params["preprocess"]["seq_len"])
        wanted = (self.kind, self.preset, self.seq_len, self.precision, self.checkpointing, self.batch)
        return (*asked, train["precision"], train["checkpointing"], train["batch_size"]) == wanted


def asks(choice: Choice, samples: tuple[int, int] | None) -> Asks:
    """Every plan by group, the most wanted first; what is in two groups is worked out once.

    Both curves pass through the training itself: between three plans memory is nearly straight.
    """
    switches = (choice.checkpointing, not choice.checkpointing)
    batches, lengths = {*BATCHES, choice.batch}, {*LENGTHS, choice.seq_len}
    return {
        "peak": {"peak": choice.ask(samples)},
        "part": {
            (digits, on): choice.ask(samples, precision=digits, checkpointing=on)
            for digits in (choice.precision, *PRECISIONS)
            for on in switches
        },
        "batch": {(on, n): choice.ask(samples, batch=n, checkpointing=on) for on in switches for n in sorted(batches)},
        "length": {
            (on, n): choice.ask(samples, seq_len=n, checkpointing=on) for on in switches for n in sorted(lengths)
        },
    }


def look(wanted: Asks) -> tuple[dict[str, Plans], int]:
    """The plans that are known by group, and how many are not yet; one of those is begun."""
    found = {
        group: {key: plan for key, ask in entries.items() if (plan := PLANNER.look(ask))}
        for group, entries in wanted.items()
    }
    return found, sum(len(entries) - len(found[group]) for group, entries in wanted.items())
