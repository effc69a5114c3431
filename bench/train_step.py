"""Speed: our training step beside the loops people would use otherwise, and beside the machine's own GEMM rate.

`python -m bench.train_step [--rounds 4]` prints a table and writes `bench/train_step.json`. All contestants take turns
in one process with the same threads, samples and losses. "Plain form" is the network as its architecture was first
listed: every candle is a token, so that attention across streams is 1,000 x 1,000; ours is the network as it ships.
The parameters are the same.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench import gemm, old_loop, peers
from bench.claims import THREADS, Claim, finish
from model.batches import take
from model.learner import Learner
from model.presets import ModelConfig, base
from model.recipe import TrainConfig
from model.rehearsal import DEVICE, blank

BATCH, UPDATES = 5, 4  # of which the first of each turn warms up and is not counted
OUT = Path(__file__).with_suffix(".json")
PLAIN, OURS = "plain form", "ours"
Loop = Callable[[Learner, dict[str, np.ndarray], int, int], list[float]]


@dataclass(kw_only=True)
class Contestant:
    """A loop around a network, and the seconds of each of its updates."""

    loop: str
    network: str
    precision: str
    checkpointing: bool
    run: Loop
    learner: Learner = field(init=False)
    seconds: list[float] = field(default_factory=list)
    gflop: float = 0.0

    def __post_init__(self) -> None:
        recipe = TrainConfig(precision=self.precision, checkpointing=self.checkpointing, threads=THREADS)
        self.learner = Learner(recipe, network(self.network), DEVICE, blank(base(), BATCH))

    @property
    def name(self) -> str:
        on = "on" if self.checkpointing else "off"
        return f"{self.loop:<13}{self.network:<11}{self.precision:<5} {on:<3}"

    @property
    def best(self) -> float:
        return min(self.seconds)


def network(name: str) -> ModelConfig:
    """The base preset as it ships, or with every candle as a token of the layers."""
    return replace(base(), token_bars=1) if name == PLAIN else base()


def ours(learner: Learner, samples: dict[str, np.ndarray], batch: int, updates: int) -> list[float]:
    """The moments at which the updates of our loop ended."""
    fields = {name: torch.from_numpy(values) for name, values in samples.items()}
    stamps = [time.perf_counter()]
    for _ in range(updates):
        learner.update(take(fields, torch.arange(batch)), 1e-4, 1.0)
        stamps.append(time.perf_counter())
    return stamps


def contestants() -> list[Contestant]:
    """Everyone who is there; a peer that is not installed is named by `missing`."""
    found = [
        Contestant(loop="old loop", network=PLAIN, precision="fp32", checkpointing=False, run=old_loop.train),
        Contestant(loop="old loop", network=OURS, precision="fp32", checkpointing=False, run=old_loop.train),
        Contestant(loop="ours", network=PLAIN, precision="fp32", checkpointing=False, run=ours),
    ]
    for precision in ("fp32", "bf16"):
        for on in (False, True):
            found.append(Contestant(loop="ours", network=OURS, precision=precision, checkpointing=on, run=ours))
    loops: dict[str, Loop] = {"lightning": peers.lightning, "transformers": peers.hugging_face}
    for package, loop in loops.items():
        if find_spec(package):
            for name in (PLAIN, OURS):
                found.append(Contestant(loop=package, network=name, precision="fp32", checkpointing=False, run=loop))
            found.append(Contestant(loop=package, network=OURS, precision="bf16", checkpointing=False, run=loop))
    return found


def missing() -> list[str]:
    return [package for package in ("lightning", "transformers") if not find_spec(package)]


def samples() -> dict[str, np.ndarray]:
    """Random sample fields of the base preset's shapes."""
    draw = np.random.default_rng(3)
    fields = {name: values.numpy() for name, values in blank(base(), BATCH).items()}
    filled = {name: draw.normal(size=values.shape).astype(np.float32) for name, values in fields.items()}
    return filled | {"actions": np.arange(BATCH) % 3, "trade_success": np.ones((BATCH, 1), dtype=np.float32)}


def operations(entry: Contestant, rows: dict[str, np.ndarray]) -> float:
    """GFLOP of one update, recomputation included, by PyTorch's own count."""
    with FlopCounterMode(display=False) as counter:
        ours(entry.learner, rows, BATCH, 1)
    return counter.get_total_flops() / 1e9


def measure(rounds: int) -> tuple[list[Contestant], dict[str, float]]:
    """Everyone takes a turn in every round; the GEMM rates are those of the best round."""
    rows, field_of = samples(), contestants()
    rates = {"fp32": 0.0, "bf16": 0.0}
    for entry in field_of:
        entry.gflop = operations(entry, rows)
    for number in range(rounds):
        for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
            rates[name] = max(rates[name], gemm.rate(dtype))
        for entry in field_of:
            stamps = entry.run(entry.learner, rows, BATCH, UPDATES)
            entry.seconds += [float(value) for value in np.diff(stamps)[-(UPDATES - 1) :]]
        print(f"round {number + 1} of {rounds}", flush=True)
    return field_of, rates


def claims(field_of: list[Contestant], rates: dict[str, float]) -> list[Claim]:
    """The goals: against the old loop, against the trainers of others, against the machine."""
    mine = {entry.precision: entry for entry in field_of if entry.run is ours and entry.network == OURS}  # the last: on
    fastest = min(entry.best for entry in field_of if entry.run is ours and entry.network == OURS)
    old = next(entry.best for entry in field_of if entry.loop == "old loop" and entry.network == PLAIN)
    found = [
        Claim(what="fastest of ours over the old loop on the plain form", value=old / fastest, unit="x", goal=">= 2.5")
    ]
    for name, goal in ((PLAIN, ">= 1.2"), (OURS, "")):
        others = [e.best for e in field_of if e.loop in ("lightning", "transformers") and e.network == name]
        note = f"not installed: {', '.join(missing())}" if missing() else ""
        value = min(others) / fastest if others else None
        found.append(
            Claim(
                what=f"fastest of ours over the best trainer on the {name}", value=value, unit="x", goal=goal, note=note
            )
        )
    for precision, goal in (("fp32", ">= 0.6"), ("bf16", ">= 0.45")):
        share = mine[precision].gflop / mine[precision].best / rates[precision]
        what = f"share of the GEMM rate, {precision}, checkpointing on"
        found.append(Claim(what=what, value=share, unit="", goal=goal, note=BESIDES))
    return found


BESIDES = "attention, norms, activations and copies are no products and take the rest"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=4)
    rounds = asked.parse_args().rounds
    torch.set_num_threads(THREADS)
    field_of, rates = measure(rounds)
    print(f"GEMM {rates['fp32']:.0f} GF/s in fp32, {rates['bf16']:.0f} in bf16")
    print("loop         network    prec  ckpt   best s  median s    GFLOP   GF/s")
    for entry in field_of:
        numbers = f"{entry.best:>9.3f}{statistics.median(entry.seconds):>10.3f}{entry.gflop:>9.1f}"
        print(f"{entry.name}{numbers}{entry.gflop / entry.best:>7.0f}")
    rows = [
        {"name": " ".join(entry.name.split()), "best_s": entry.best, "gflop": entry.gflop, "seconds": entry.seconds}
        for entry in field_of
    ]
    finish(OUT, claims(field_of, rates), {"gemm_gflop_s": rates, "rounds": rounds, "contestants": rows})


if __name__ == "__main__":
    main()
