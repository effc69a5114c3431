"""Memory: the plan against the allocator's own record of one real training step.

`python -m bench.memory` prints a table and writes `bench/memory.json`. The plan comes from fake tensors; the measured
number is the sum of all allocations and frees that PyTorch's CPU allocator reported during the step.
"""

import time
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from bench.claims import THREADS, Claim, finish
from model.batches import take
from model.learner import Learner
from model.ledger import ledger_of
from model.plan import plan
from model.presets import ModelConfig, preset
from model.recipe import TrainConfig
from model.rehearsal import DEVICE, blank, faking, rehearse

GRID = [
    *product(("base", "lite"), (5,), (200,), ("fp32", "bf16"), (True, False)),
    *product(("base", "wide"), (2,), (100,), ("fp32", "bf16"), (True, False)),
]
OUT = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One configuration, predicted and measured; bytes."""

    preset: str
    batch: int
    seq_len: int
    precision: str
    checkpointing: bool
    predicted_bytes: int  # of an update
    measured_bytes: int
    error: float  # predicted over measured, less 1
    over_floor: float  # predicted over weights, gradients, moments and one layer's activations
    activations_bytes: int  # the most there are at any moment, the peak or another
    plan_s: float


def allocator_peak(recipe: TrainConfig, config: ModelConfig, batch: int) -> int:
    """The most bytes that the CPU allocator held during the second update, by its own record."""
    splits = [blank(config, batch), blank(config, batch)]
    learner = Learner(recipe, config, DEVICE, splits[0])
    learner.update(take(splits[0], torch.arange(batch)), recipe.learning_rate, 1.0)
    learner.optimizer.zero_grad(set_to_none=True)  # as an update begins: frees of older blocks are not recorded
    before = ledger_of(learner, *splits).peak_bytes
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        learner.update(take(splits[0], torch.arange(batch)), recipe.learning_rate, 1.0)
    events = record.profiler.kineto_results.events()
    live = most = 0
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        live += event.nbytes()
        most = max(most, live)
    return before + most


def most_activations(recipe: TrainConfig, config: ModelConfig, batch: int) -> int:
    """The most bytes of activations at any moment of an update, by rehearsal."""
    with faking():
        update, _ = rehearse(recipe, config, batch, batch, batch)
    return update.most["activations"]


def one_layer_bytes(recipe: TrainConfig, config: ModelConfig, batch: int) -> int:
    """Activations of one layer: what a layer more adds to a step without checkpointing."""
    plain, deeper = replace(recipe, checkpointing=False), replace(config, layers=config.layers + 1)
    return most_activations(plain, deeper, batch) - most_activations(plain, config, batch)


def measure(name: str, batch: int, seq_len: int, precision: str, checkpointing: bool) -> Row:
    """Plan and run one configuration."""
    config = replace(preset(name), seq_len=seq_len)
    started = time.perf_counter()
    planned = plan(config, batch, seq_len, precision, checkpointing)
    plan_s = time.perf_counter() - started
    recipe = TrainConfig(batch_size=batch, precision=precision, checkpointing=checkpointing)
    measured = allocator_peak(recipe, config, batch)
    floor = 2 * planned.weights + planned.optimizer_state + one_layer_bytes(recipe, config, batch)
    return Row(
        preset=name,
        batch=batch,
        seq_len=seq_len,
        precision=precision,
        checkpointing=checkpointing,
        predicted_bytes=planned.update_bytes,
        measured_bytes=measured,
        error=planned.update_bytes / measured - 1,
        over_floor=planned.update_bytes / floor,
        activations_bytes=most_activations(recipe, config, batch),
        plan_s=plan_s,
    )


def line(row: Row) -> str:
    """One row of the table."""
    on = "on" if row.checkpointing else "off"
    setting = f"{row.preset:<6}{row.batch:>6}{row.seq_len:>6}  {row.precision}  {on:<4}"
    sizes = f"{row.predicted_bytes / 1e6:>10.1f}{row.measured_bytes / 1e6:>10.1f}{100 * row.error:>9.2f}"
    return f"{setting}{sizes}{row.over_floor:>8.2f}{row.activations_bytes / 1e6:>10.1f}{row.plan_s:>8.1f}"


def saved(rows: list[Row]) -> dict[str, float]:
    """The share of the activations that checkpointing saves, by configuration."""
    found: dict[str, dict[bool, int]] = {}
    for row in rows:
        name = f"{row.preset} {row.batch} x {row.seq_len} {row.precision}"
        found.setdefault(name, {})[row.checkpointing] = row.activations_bytes
    return {name: 1 - pair[True] / pair[False] for name, pair in found.items()}


def main() -> None:
    torch.set_num_threads(THREADS)
    print("preset batch  bars  prec  chkp predicted  measured  error %  floor  activ.    plan s     (MB)")
    rows = []
    for entry in GRID:
        rows.append(measure(*entry))
        print(line(rows[-1]), flush=True)
    shares = saved(rows)
    summary = {
        "largest_error": max(abs(row.error) for row in rows),
        "largest_over_floor_with_checkpointing": max(row.over_floor for row in rows if row.checkpointing),
        "smallest_saving_at_5_x_200": min(share for name, share in shares.items() if "5 x 200" in name),
        # smaller: with few samples the bf16 copies of the weights, which live through an update, are most of it
        "smallest_saving_of_activations": min(shares.values()),
        "longest_plan_s": max(row.plan_s for row in rows),
    }
    finish(OUT, claims(summary), {**summary, "saved": shares, "rows": [asdict(row) for row in rows]})


def claims(summary: dict[str, float]) -> list[Claim]:
    """What the plan and checkpointing must hold."""
    bf16 = "smaller in bf16 with few samples: the bf16 copies of the weights live through an update and are most of it"
    return [
        Claim(what="largest error of the memory plan", value=summary["largest_error"], unit="", goal="<= 0.03"),
        Claim(
            what="peak over its floor, with checkpointing, at most",
            value=summary["largest_over_floor_with_checkpointing"],
            unit="x",
            goal="<= 1.25",
        ),
        Claim(
            what="activations that checkpointing saves at 5 x 200",
            value=summary["smallest_saving_at_5_x_200"],
            unit="",
            goal=">= 0.5",
        ),
        Claim(
            what="activations that checkpointing saves, smallest of all",
            value=summary["smallest_saving_of_activations"],
            unit="",
            goal=">= 0.5",
            note=bf16,
        ),
        Claim(what="longest time of a plan", value=summary["longest_plan_s"], unit="s", goal="<= 10"),
    ]


if __name__ == "__main__":
    main()
