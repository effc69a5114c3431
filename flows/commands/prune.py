"""`pivotline prune`: what could go, why, and how much that frees; then taking it away."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from flows.output import show, table
from model.amount import amount

if TYPE_CHECKING:
    from flows.disk import Disk
    from flows.prune import PrunePlan

PLACES = {"run": "run folders", "mlflow": "MLflow", "copy": "copies", "leftover": "left over", "dvc": "dataset cache"}
SHOWN = 40  # lines of a plan; the rest is summed up


def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Take away what no run, registered version or dataset needs; the best and the last checkpoints always stay."""
    from flows import upkeep

    plan = upkeep.prune_plan()
    if dry_run:
        found = upkeep.disk()
        show({**asdict(plan), "disk": asdict(found)}, as_json, lambda: plan_lines(plan, found))
        return
    done = upkeep.prune(plan)
    freed = f"{amount(done.freed_bytes)} freed ({done.freed_bytes:,} bytes)"
    said = f"{done.removed} things removed, {done.kept} kept, {freed}"
    show(asdict(done), as_json, lambda: [*done.notes, said])


def plan_lines(plan: "PrunePlan", found: "Disk") -> list[str]:
    going = [item for item in plan.items if item.goes]
    rows: list[tuple[str, ...]] = [("would go", "from", "frees", "why")]
    rows += [(item.name, item.run_id or PLACES[item.place], amount(item.bytes), item.why) for item in going[:SHOWN]]
    more = [f"and {len(going) - SHOWN} more, all of them with --json"] if len(going) > SHOWN else []
    head = table(rows, right=(2,)) if going else ["Nothing would go."]
    kept = [item for item in plan.items if not item.goes]
    freed = f"{len(going)} things would go, {amount(plan.free_bytes)} freed; {len(kept)} stay"
    return [*head, *more, "", *plan.notes, freed, *disk_lines(found)]


def disk_lines(found: "Disk") -> list[str]:
    parts = ", ".join(f"{amount(count)} {kind}" for kind, count in found.by_kind.items() if count)
    budget = f"{amount(found.used_bytes)} of {amount(found.budget_bytes)} used"
    return [f"disk: {budget} ({parts or 'nothing yet'}), {amount(found.free_bytes)} free on it"]
