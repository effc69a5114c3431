"""The predicted peak of the run in the form: part by part, against the device that would train it."""

import streamlit as st

from app import charts
from app.format import plain, size, spoken
from app.plans import GB, PLANNER, Ask, memory_of
from dataset.config import PreprocessConfig
from model.device import Device
from model.plan import Plan
from model.verdict import FITS, TIGHT, TOO_LARGE, Verdict, needed, word

PARTS = {
    "weights": "Weights",
    "gradients": "Gradients",
    "optimizer_state": "Optimizer",
    "inputs": "Samples",
    "activations": "Activations",
    "transient": "Transient",
}
# Blues are what the network fixes; amber is what batch, length and checkpointing change.
COLOURS = ("#3A63B5", "#5580D6", "#7890C4", "#9AA7BD", "#C9781F", "#7C8590")
BADGE = {FITS: "green", TIGHT: "orange", TOO_LARGE: "red"}
CARD_GB = 8  # the card that a laptop is assumed to have
HEIGHT = 210


def complete(ask: Ask, device: Device) -> bool:
    """Whether there is nothing more to wait for."""
    planned = found(ask)
    return isinstance(planned, str) or (planned is not None and advice(planned, device) is not None)


def found(ask: Ask) -> Plan | str | None:
    """The plan, the reason why there is none, or None while it is worked out."""
    try:
        return PLANNER.look(ask)
    except ValueError as error:
        return str(error)


def counted(version: str, preprocess: PreprocessConfig) -> tuple[int, int] | None:
    """Training and validation samples of `data/`; None while they are counted. Raises ValueError where none are."""
    return PLANNER.count(version, preprocess)


def draw(ask: Ask | None, device: Device) -> None:
    """The peak with its parts; a skeleton in its place until the plan is there."""
    planned = found(ask) if ask else None
    if planned is None:
        st.skeleton(height=HEIGHT)
    elif isinstance(planned, str):
        st.caption(spoken(planned))
    else:
        head(planned, device)
        bars(planned)
        st.caption(advice(planned, device) or "Looking for what would fit…")


def brief(ask: Ask | None, device: Device) -> str:
    """The verdict in a line, for beside the button that starts the run."""
    planned = found(ask) if ask else None
    if not isinstance(planned, Plan):
        return "" if planned else ":gray[Working out the peak…]"
    total = memory_of(device)
    judged = word(planned, total)
    better = PLANNER.judge(planned, total) if judged == TOO_LARGE else None
    said = f":{BADGE[judged]}-badge[{judged}] {size(planned.predicted_bytes)} of {size(total)} on {short_name(device)}"
    return f"{said}. {remedy(better)}" if better else said


def short_name(device: Device) -> str:
    return plain(device.name) if device.kind == "cuda" else device.kind


def room(device: Device) -> str:
    where = plain(device.name) if device.kind == "cuda" else f"this machine's {device.kind}"
    return f"of {size(memory_of(device))} on {where}"


def head(planned: Plan, device: Device) -> None:
    judged = word(planned, memory_of(device))
    said = f"**Predicted peak {size(planned.predicted_bytes)}** {room(device)}"
    st.markdown(f"{said} :{BADGE[judged]}-badge[{judged}]")


def bars(planned: Plan) -> None:
    rows = [(name, getattr(planned, part), size(getattr(planned, part))) for part, name in PARTS.items()]
    st.echarts_chart(
        charts.hbar(rows, COLOURS),
        height=8 + 22 * len(rows),
        key="peak",
        alt=f"Predicted peak by part: {', '.join(f'{name} {text}' for name, _, text in rows)}",
    )


def advice(planned: Plan, device: Device) -> str | None:
    """How the run fits the device, or a laptop's card where there is none; None while what would fit is worked out."""
    total = memory_of(device) if device.kind == "cuda" else CARD_GB * GB
    card = plain(device.name) if device.kind == "cuda" else f"an {CARD_GB} GB card"
    judged = word(planned, total)
    said = f"On {card} it {'is tight' if judged == TIGHT else judged}: {size(needed(planned))} with the CUDA context"
    if judged != TOO_LARGE:
        return f"{said}."
    better = PLANNER.judge(planned, total)
    return None if better is None else f"{said}. {remedy(better)}"


def remedy(better: Verdict) -> str:
    batch = f"Batch {better.largest_batch} would" if better.largest_batch else "Not even a batch of one would"
    return f"{batch}; with this batch {better.switch} would." if better.switch else f"{batch}."
