"""What follows from the settings in the form, beside it: peak, parameters, updates, time, disk and device."""

import streamlit as st

from app import backend, estimate, prediction
from app.format import MISSING, count, plain, size
from app.plans import Ask
from flows.params import Params, model_config
from model.device import Device
from model.kinds import title
from model.size import CHECKPOINT_BYTES


def show(params: Params, dataset: str | None) -> None:
    samples, why = split_of(params, dataset)
    device, missing = device_of(params.train.device)
    if device and params.model.kind != "dqn":  # whose memory depends on its episodes
        prediction.show(ask(params, samples), device)
    st.table(rows(params, samples, why) | {"Device": plain(missing or told(device))}, border="horizontal")


def split_of(params: Params, dataset: str | None) -> tuple[tuple[int, int] | None, str]:
    """Training and validation samples, or the reason why they are not known."""
    try:
        found = backend.split_samples(dataset or "", params.preprocess)
    except ValueError as error:
        return None, str(error)
    if found is None:
        return None, "no earlier run made samples of this dataset with these settings"
    return (found, "") if found[0] else (None, "there are no training samples")


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


def rows(params: Params, samples: tuple[int, int] | None, why: str) -> dict[str, str]:
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
    found |= {"Updates": f"{MISSING} {plain(why)}"} if samples is None else planned(params, samples[0])
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
