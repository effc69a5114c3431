"""`pivotline model`: what a network is made of, and what training it takes."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from flows.output import show, table
from model.amount import amount

if TYPE_CHECKING:
    from model.size import Size

app = typer.Typer(no_args_is_help=True, help="Networks: their size and memory.")


@app.callback()
def group() -> None:
    """Networks: their size and memory."""


@app.command()
def size(
    preset: Annotated[str, typer.Option(help="Which preset.")] = "base",
    kind: Annotated[str, typer.Option(help="Which kind of network.")] = "transformer",
    every: Annotated[bool, typer.Option("--all", help="All presets of the kind side by side.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Parameters by component, counted, beside the documented number."""
    from model import size as sizes
    from model.kinds import PRESETS
    from model.kinds import preset as named

    found = [sizes.size(named(kind, name)) for name in (PRESETS.get(kind, [preset]) if every else [preset])]
    if every:
        show({entry.preset: asdict(entry) for entry in found}, as_json, lambda: side_by_side(found))
    else:
        show(asdict(found[0]), as_json, lambda: components(found[0]))


@app.command()
def memory(
    preset: Annotated[str, typer.Option(help="Which preset.")] = "base",
    kind: Annotated[str, typer.Option(help="Which kind of network: transformer or cnn.")] = "transformer",
    batch: Annotated[int, typer.Option(min=1, max=512, help="Samples an update.")] = 5,
    seq_len: Annotated[int, typer.Option(help="Candles a stream.")] = 200,
    precision: Annotated[str, typer.Option(help="fp32, bf16 or fp16.")] = "fp32",
    checkpointing: Annotated[str, typer.Option(help="on or off: which of the two is judged.")] = "on",
    device_gb: Annotated[float, typer.Option(min=0.1, help="Memory of the GPU; 1 GB = 2^30 bytes here.")] = 8.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """What a training run will need at its peak, worked out from its real step without allocating anything."""
    from flows.commands import memory as told
    from model.verdict import verdict

    if not math.isfinite(device_gb):
        raise ValueError(f"--device-gb is {device_gb}, expected a finite number of GB")
    chosen = told.switched_on(checkpointing)
    found = told.plans(kind, preset, batch, seq_len, precision)
    judged = verdict(found[chosen], int(device_gb * told.GB))
    show(told.plain(found, chosen, judged), as_json, lambda: told.lines(found, chosen, judged))


def components(found: "Size") -> list[str]:
    rows = [("component", "parameters", "share", "matrices")]
    rows += [(row.component, f"{row.count:,}", f"{100 * row.share:.1f} %", row.shape) for row in found.rows]
    sizes = f"{amount(found.fp32_bytes)} in FP32, {amount(found.fp16_bytes)} in FP16"
    return [sentence(found), f"Weights: {sizes}.", "", *table(rows, right=(1, 2)), *riddle(found)]


def sentence(found: "Size") -> str:
    if found.documented is None or found.difference is None:
        return f"{found.preset}: {found.parameters:,} parameters counted."
    apart = "equal" if found.parameters == found.documented else f"{100 * found.difference:+.1f} %"
    return f"{found.preset}: {found.parameters:,} parameters counted, {found.documented:,} documented: {apart}."


def side_by_side(found: "list[Size]") -> list[str]:
    rows: list[tuple[str, ...]] = [("preset", "counted", "documented", "FP32", "FP16", "checkpoint", "training state")]
    for entry in found:
        documented = f"{entry.documented:,}" if entry.documented else "—"
        amounts = (entry.fp32_bytes, entry.fp16_bytes, entry.checkpoint_bytes, entry.training_bytes)
        rows.append((entry.preset, f"{entry.parameters:,}", documented, *(amount(count) for count in amounts)))
    return [*table(rows, right=(1, 2, 3, 4, 5, 6)), *riddle(found[-1])]


def riddle(found: "Size") -> list[str]:
    """Why the old model filled the disk, told with its counted size."""
    if found.preset != "legacy":
        return []
    checkpoint, training = found.checkpoint_bytes / 1e9, found.training_bytes / 1e9
    return [
        "",
        f"legacy was documented with 46 M parameters; built as listed it has {found.parameters / 1e6:,.0f} M.",
        f"That is {checkpoint:.1f} GB a checkpoint (12 bytes a parameter: the value and the two moments of AdamW)",
        f"and {training:.1f} GB of training state (16 bytes, with the gradient) before the first activation.",
    ]
