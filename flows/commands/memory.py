"""`pivotline model memory`: what a training run will need, part by part, and whether that fits."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flows.output import table
from model.amount import amount
from model.kinds import title

if TYPE_CHECKING:
    from model.plan import Plan
    from model.verdict import Verdict

GB = 2**30  # as graphics cards count
LEGACY_RAM_BYTES = 43e9  # documented for the legacy model
NAMES = {
    "weights": "weights",
    "gradients": "gradients made by then",
    "optimizer_state": "state of AdamW",
    "inputs": "samples",
    "activations": "activations",
    "transient": "transient",
}


def plans(kind: str, preset: str, batch: int, seq_len: int, precision: str) -> "dict[bool, Plan]":
    """The plan with checkpointing on and off."""
    from model.kinds import preset as named
    from model.plan import plan

    return {on: plan(named(kind, preset), batch, seq_len, precision, on) for on in (True, False)}


def switched_on(word: str) -> bool:
    if word not in ("on", "off"):
        raise ValueError(f"--checkpointing is {word!r}, expected on or off")
    return word == "on"


def plain(found: "dict[bool, Plan]", chosen: bool, judged: "Verdict") -> dict[str, Any]:
    """Both plans and the verdict on the chosen one, in bytes."""
    from model.plan import CUDA_CONTEXT_BYTES

    asked = found[chosen]
    return {
        "kind": asked.config.kind,
        "preset": asked.config.preset,
        "batch": asked.batch,
        "seq_len": asked.config.seq_len,
        "precision": asked.precision,
        "optimizer": "adamw",
        "checkpointing": chosen,
        "predicted": {"on": numbers(found[True]), "off": numbers(found[False])},
        "assumed": {"cuda_context_bytes": CUDA_CONTEXT_BYTES},
        "verdict": {**asdict(judged), "share": round(judged.share, 4)},
    }


def numbers(planned: "Plan") -> dict[str, int]:
    parts = {f"{part}_bytes": getattr(planned, part) for part in NAMES}
    whole = {name: getattr(planned, name) for name in ("update_bytes", "validation_bytes", "predicted_bytes")}
    return parts | whole


def lines(found: "dict[bool, Plan]", chosen: bool, judged: "Verdict") -> list[str]:
    from model.plan import CUDA_CONTEXT_BYTES
    from model.verdict import sentence

    on, off = found[True], found[False]
    rows: list[tuple[str, ...]] = [("predicted, at the peak of an update", "checkpointing on", "off")]
    rows += [(name, *(amount(getattr(each, part)) for each in (on, off))) for part, name in NAMES.items()]
    rows.append(("total", amount(on.update_bytes), amount(off.update_bytes)))
    rows.append(("validation", amount(on.validation_bytes), amount(off.validation_bytes)))
    rows.append(("CUDA context, assumed", amount(CUDA_CONTEXT_BYTES), amount(CUDA_CONTEXT_BYTES)))
    asked = found[chosen]
    network = title(asked.config.kind, asked.config.preset)
    head = f"{network}, batch {asked.batch} of {asked.config.seq_len} bars, {asked.precision}, AdamW"
    return [head, "", *table(rows, right=(1, 2)), "", sentence(asked, judged), *riddle(off, on)]


def riddle(off: "Plan", on: "Plan") -> list[str]:
    """What the documented memory of the legacy model was made of, in two sentences."""
    if off.config.preset != "legacy":
        return []
    state = 4 * off.weights / 1e9  # the value, its gradient and two moments
    known, total = state + off.activations / 1e9, LEGACY_RAM_BYTES / 1e9
    return [
        "",
        f"Weights, gradients and the two moments of AdamW take {state:.1f} GB, and the activations of {off.batch} "
        f"samples at once {off.activations / 1e9:.1f} GB ({on.activations / 1e9:.1f} GB with checkpointing): "
        f"{known:.1f} of the documented {total:.0f} GB.",
        f"The step does not explain the other {total - known:.1f} GB; one copy of weights and moments, as saving a "
        f"checkpoint makes, is {3 * off.weights / 1e9:.1f} GB.",
    ]
