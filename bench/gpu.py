"""The GPU: correctness against the CPU, speed, memory against the plan, and what happens when it is too small.

`python -m bench.gpu` in the repository's root, on a CUDA machine with PyTorch and NumPy alone; under six minutes. It
prints a line a claim and writes `bench/gpu.json`. Without CUDA it runs the same steps on the CPU with a small network,
to show that they run, and says of every GPU number that it was not measured.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.card import BATCH, SAMPLES, UPDATES, correctness, eager, graphed, inference_bytes, too_small
from bench.claims import Claim, finish
from model.device import Device, choose
from model.learner import EVALUATION_BATCH
from model.plan import plan
from model.presets import ModelConfig, base
from model.rehearsal import DEVICE as CPU

DOCUMENTED_INFERENCE_MB = 38.42
OUT = Path(__file__).with_suffix(".json")
NOT_HERE = "no CUDA device is here"


def on_gpu(device: Device) -> tuple[list[Claim], dict[str, Any]]:
    """Every claim, measured."""
    config = base()
    steps = {
        f"{precision}, checkpointing {'on' if kept else 'off'}": eager(
            config, device, UPDATES, precision=precision, checkpointing=kept
        )
        for precision in ("fp32", "bf16")
        for kept in (True, False)
    }
    planned = plan(config, BATCH, config.seq_len, "fp32", True, samples=(BATCH, EVALUATION_BATCH))
    allocated = steps["fp32, checkpointing on"][1]
    claims = [
        Claim(
            what="gradients against the CPU, largest difference",
            value=correctness(config, device),
            unit="",
            goal="<= 0.001",
        ),
        Claim(
            what="error of the plan, fp32, checkpointing on",
            value=abs(planned.update_bytes / allocated - 1),
            unit="",
            goal="<= 0.08",
        ),
        Claim(
            what="inference of one sample, allocated",
            value=inference_bytes(config, device) / 1e6,
            unit="MB",
            goal="",
            note=f"{DOCUMENTED_INFERENCE_MB} MB documented",
        ),
        graph_claim(config, device),
    ]
    for name, (took, peak, reserved) in steps.items():
        note = f"{UPDATES * took:.3f} s an epoch of {SAMPLES} samples; {peak / 1e6:.0f} MB allocated"
        note = f"{note}, {reserved / 1e6:.0f} MB reserved"
        claims.append(Claim(what=f"one update, {name}", value=1000 * took, unit="ms", goal="", note=note))
    said = too_small(config, device)
    claims.append(
        Claim(what="out of memory ends in one sentence", value=float(bool(said)), unit="", goal=">= 1", note=said)
    )
    return claims, {"device": device.name, "steps": steps}


def graph_claim(config: ModelConfig, device: Device) -> Claim:
    """The epoch that CUDA graphs give, or the reason why they could not be made."""
    what, goal = "an epoch of 255 samples by CUDA graph, bf16", "<= 0.2"
    try:
        return Claim(what=what, value=UPDATES * graphed(config, device, UPDATES, "bf16"), unit="s", goal=goal)
    except RuntimeError as error:
        return Claim(what=what, value=None, unit="s", goal=goal, note=str(error).splitlines()[0])


def on_cpu(device: Device) -> tuple[list[Claim], dict[str, Any]]:
    """The same steps with a small network on the CPU; of the GPU nothing is claimed."""
    small = replace(base(), d_model=64, heads=2, layers=2, d_ff=128, seq_len=50)
    took, _, _ = eager(small, device, 3, precision="fp32", checkpointing=True)
    names = ("an epoch of 255 samples", "error of the plan", "inference of one sample", "out of memory in one sentence")
    return [
        Claim(
            what="gradients of two builds on the CPU, difference",
            value=correctness(small, device),
            unit="",
            goal="",
        ),
        Claim(what="one update of a small network on the CPU", value=1000 * took, unit="ms", goal=""),
        *(Claim(what=f"{name} (GPU)", value=None, unit="", goal="", note=NOT_HERE) for name in names),
    ], {"device": device.name}


def main() -> None:
    device = choose("auto")
    claims, details = on_gpu(device) if device.kind == "cuda" else on_cpu(CPU)
    finish(OUT, claims, details)


if __name__ == "__main__":
    main()
