"""What follows from the settings in the form, beside it: peak, parameters, updates, time, disk and device."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from app import backend, estimate, prediction
from app.format import MISSING, count, plain, size
from app.plans import Ask
from flows.params import Params, model_config
from model.device import Device
from model.kinds import title
from model.size import CHECKPOINT_BYTES

LOOK_S = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """Training and validation samples, or why they are not known, or that they are being counted."""

    samples: tuple[int, int] | None = None
    why: str = ""
    waiting: bool = False


def show(params: Params, dataset: str | None) -> None:
    """Draws all of it at once: what takes seconds has a skeleton in its place and is looked at again."""
    look(draw, params, dataset)


def brief(params: Params, dataset: str | None) -> None:
    """Draws whether the run fits, in a line."""
    look(tell, params, dataset)


def look(drawing: Callable[..., None], params: Params, dataset: str | None) -> None:
    waiting = not complete(params, dataset)

    def tick() -> None:
        if waiting and complete(params, dataset):
            st.rerun()  # all is there: draw it once more, without a timer
        drawing(params, dataset)

    st.fragment(tick, run_every=LOOK_S if waiting else None)()


def complete(params: Params, dataset: str | None) -> bool:
    split, device = split_of(params, dataset), planning(params)
    return not split.waiting and (device is None or prediction.complete(ask(params, split.samples), device))


def planning(params: Params) -> Device | None:
    """The device whose memory is planned; none for a dqn, whose memory depends on its episodes."""
    return None if params.model.kind == "dqn" else device_of(params.train.device)[0]


def draw(params: Params, dataset: str | None) -> None:
    split, (device, missing) = split_of(params, dataset), device_of(params.train.device)
    if planned := planning(params):
        prediction.draw(asked(params, split), planned)
    st.table(rows(params, split) | {"Device": plain(missing or told(device))}, border="horizontal")


def tell(params: Params, dataset: str | None) -> None:
    if device := planning(params):
        st.markdown(prediction.brief(asked(params, split_of(params, dataset)), device))


def asked(params: Params, split: Split) -> Ask | None:
    return None if split.waiting else ask(params, split.samples)


def split_of(params: Params, dataset: str | None) -> Split:
    """As an earlier run made them, else counted in `data/`."""
    wanted = dataset or ""
    try:
        found = backend.known_split(wanted, params.preprocess)
        if found is None and backend.is_here(wanted):
            found = prediction.counted(wanted, params.preprocess)
            if found is None:
                return Split(why="samples are being counted", waiting=True)
    except ValueError as error:
        return Split(why=str(error))
    if found is None:
        return Split(why="no earlier run made samples of this dataset with these settings")
    return Split(samples=found) if found[0] else Split(why="there are no training samples")


def device_of(wanted: str) -> tuple[Device | None, str]:
    try:
        return backend.choose_device(wanted), ""
    except ValueError as error:
        return None, str(error)


def told(device: Device | None) -> str:
    return f"{device.kind} ({device.name}), {device.why}" if device else MISSING


def ask(params: Params, samples: tuple[int, int] | None) -> Ask:
    """The plan to ask for; without samples, of a batch as it is set."""
    wanted = params.train.batch_size
    batch = backend.batch(samples[0], wanted) if samples else wanted if isinstance(wanted, int) else 1
    return Ask(
        config=model_config(params),
        batch=batch,
        seq_len=params.preprocess.seq_len,
        precision=params.train.precision,
        checkpointing=params.train.checkpointing,
        samples=samples,
    )


def rows(params: Params, split: Split) -> dict[str, str]:
    """A sentence each; what cannot be known is absent or says why."""
    counted, model = backend.size(model_config(params)), params.model
    found = {"Parameters": f"{count(counted.parameters)} counted for {title(model.kind, model.preset)}"}
    on_disk = f"{size(counted.checkpoint_bytes)} on disk predicted, at {CHECKPOINT_BYTES} bytes a parameter"
    if model.kind == "dqn":  # its updates follow from its episodes, and its checkpoints hold more than a network
        return found | {
            "Memory": f"{MISSING} depends on its episodes; predicted when the run begins",
            "Updates": f"{MISSING} told when the run begins",
            "Checkpoint": f"{on_disk}; the memory of steps comes on top",
        }
    if split.samples is None:
        found["Updates"] = f"{MISSING} {plain(split.why)}"
    else:
        found |= planned(params, split.samples[0])
    return found | {"Checkpoint": on_disk}


def planned(params: Params, samples: int) -> dict[str, str]:
    """Updates, and from earlier runs time and disk."""
    an_epoch = backend.updates(samples, params.train.batch_size)
    whole = an_epoch * params.train.epochs
    before = estimate.like(params, backend.runs())
    known = {
        "Time": estimate.time(before, whole),
        "Disk": estimate.disk(before, params.train.keep_checkpoints),
    }
    updates = {"Updates": f"{count(an_epoch)} an epoch, {count(whole)} in all, at most"}
    return updates | {name: plain(text) for name, text in known.items() if text}
