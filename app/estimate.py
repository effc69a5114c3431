"""What a run will take in time and disk, from earlier runs like it; nothing where there are none."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from app.format import duration, several, size
from flows.params import Params
from flows.runview import RunView

LIKE = (
    ("preprocess", "seq_len"),
    ("model", "kind"),
    ("model", "preset"),
    ("train", "batch_size"),
    ("train", "precision"),
    ("train", "checkpointing"),
    ("train", "threads"),
)


def like(params: Params, views: Sequence[RunView]) -> list[dict[str, Any]]:
    """The results of finished runs that differ in nothing that decides the time of an update."""
    wanted = [getattr(getattr(params, section), name) for section, name in LIKE]
    return [
        view.result
        for view in views
        if view.result and [view.params.get(section, {}).get(name) for section, name in LIKE] == wanted
    ]


def time(results: Sequence[dict[str, Any]], updates: int) -> str | None:
    """About how long so many updates take."""
    trained = [found["train"] for found in results if found["train"].get("elapsed_s") and found["train"].get("updates")]
    spent = [report["elapsed_s"] / report["updates"] for report in trained]
    return f"about {duration(median(spent) * updates)}, {basis(len(spent))}" if spent else None


def disk(results: Sequence[dict[str, Any]], keep: int) -> str | None:
    """About what a training keeps: its newest checkpoints, and the best without its optimiser's state."""
    known = [found for found in results if found["train"].get("checkpoint_bytes")]
    if not known:
        return None
    each = median(found["train"]["checkpoint_bytes"] for found in known)
    whole = keep * each + median(found["weights_bytes"] for found in known)
    return f"about {size(whole)}: {several(keep, 'checkpoint')} of {size(each)} and the best, {basis(len(known))}"


def basis(runs: int) -> str:
    return f"from {several(runs, 'earlier run')} like this"
