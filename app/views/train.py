"""Train: what to train, what it takes, and the run that it becomes."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import backend, health, live, orders
from app.format import MISSING, count, plain, short, size
from app.settings import Setting, applied, ask, changes, keep, recall, settings
from flows.params import Params, model_config
from model.kinds import title as network
from model.size import CHECKPOINT_BYTES

PRESETS = ("lite", "base", "wide")  # legacy is there to be counted, not to be trained
OPEN = ("model.preset", "train.epochs", "train.batch_size", "train.precision", "train.checkpointing", "train.seed")
FOLD_HEIGHT = 330  # so that Start stays in sight of an open fold
SECTIONS = {"preprocess": "Samples", "model": "Model", "train": "Training"}


def page() -> None:
    st.title("Train", anchor=False)
    orders.ask_to_cancel()
    down = health.warn()
    try:
        params = backend.defaults()
    except ValueError as error:
        st.error(plain(error))
    else:
        form(params, "Prefect" in down)
    live.follow("Prefect" in down)


@st.fragment
def form(params: Params, closed: bool) -> None:
    """Inputs at the left, what follows from them at the right."""
    left, right = st.columns([4, 5], gap="large")
    known = settings(params, SECTIONS)
    with left:
        values, dataset = inputs(known)
        wanted = changes(values, known)
        chosen, problem = applied(params, wanted)
        start_row(wanted, dataset, problem, closed)
    with right, st.container(border=True):
        facts(chosen, dataset)
    if orders.sending():
        orders.send(wanted, dataset)


def inputs(known: Mapping[str, Setting]) -> tuple[dict[str, Any], str | None]:
    values = {"model.preset": preset_input(known["model.preset"])}
    dataset = dataset_input()
    with st.grid(3, min_column_width=100):
        for key in ("train.epochs", "train.batch_size", "train.precision"):
            values[key] = ask(known[key])
    with st.grid(2, min_column_width=190, vertical_alignment="bottom"):
        values["train.seed"] = ask(known["train.seed"])
        values["train.checkpointing"] = ask(known["train.checkpointing"], title="Gradient checkpointing")
    return values | folded({key: entry for key, entry in known.items() if key not in OPEN}), dataset


def preset_input(setting: Setting) -> str:
    recall(setting)
    chosen = st.segmented_control("Preset", PRESETS, required=True, width="stretch", key=setting.key)
    return str(keep(setting, chosen))


def dataset_input() -> str | None:
    """The dataset version, the one in `data/` first."""
    try:
        found = {entry.version: entry for entry in backend.datasets()}
    except (ValueError, OSError) as error:
        st.error(plain(error))
        return None

    def name(version: str) -> str:
        samples = found[version].facts.get("samples")
        words = [short(version), f"{samples} samples" if samples else "", "in data/" if found[version].current else ""]
        return " · ".join(word for word in words if word)

    if not found:
        st.error("There is no dataset: data/ is missing. Fetch the sample with `make data`.")
        return None
    return str(st.selectbox("Dataset version", list(found), format_func=name, key="dataset"))


def folded(known: Mapping[str, Setting]) -> dict[str, Any]:
    """The other settings, folded; how many are changed stands on the fold."""
    for entry in known.values():
        recall(entry)
    differing = sum(st.session_state[key] != entry.default for key, entry in known.items())
    words = f"{differing} of {len(known)} changed" if differing else f"{len(known)} at their defaults"
    values = {}
    fold = st.expander(f"Advanced settings: {words}", key="advanced")
    with fold.container(height=FOLD_HEIGHT, border=False):
        for section, title in SECTIONS.items():
            st.markdown(f"**{title}**")
            with st.grid(2, min_column_width=150):
                for key, entry in known.items():
                    if entry.section == section:
                        values[key] = ask(entry)
    return values


def start_row(wanted: dict[str, dict[str, Any]], dataset: str | None, problem: str, closed: bool) -> None:
    key = orders.next_key([wanted, dataset])
    if problem or orders.refused():
        st.error(plain(problem or orders.refused()))
    reason = "Prefect does not answer." if closed else "There is no dataset." if dataset is None else problem
    st.button(
        "Starting…" if orders.sending() else "Start training",
        type="primary",
        width=180,
        key="start",
        disabled=bool(reason) or orders.sending(),
        help=plain(reason) or None,
        on_click=orders.press,
        args=(key,),
    )


def facts(params: Params, dataset: str | None) -> None:
    """What follows from the settings; counted where it can be, else with the reason why not."""
    counted, model = backend.size(model_config(params)), params.model
    acts = model.kind == "dqn"  # its updates follow from its episodes, and its checkpoints hold more than a network
    on_disk = f"{size(counted.checkpoint_bytes)} on disk predicted, at {CHECKPOINT_BYTES} bytes a parameter"
    rows = {
        "Updates": f"{MISSING} told when the run begins" if acts else updates(params, dataset),
        "Checkpoint": f"{on_disk}; the memory of steps comes on top" if acts else on_disk,
        "Device": device(params.train.device),
    }
    st.markdown(f"**{count(counted.parameters)} parameters** counted for {network(model.kind, model.preset)}")
    st.table(rows, border="horizontal")


def updates(params: Params, dataset: str | None) -> str:
    try:
        samples = backend.train_samples(dataset or "", params.preprocess)
    except ValueError as error:
        return f"{MISSING} {plain(error)}"
    if samples is None:
        return f"{MISSING} no earlier run made samples of this dataset with these settings"
    if not samples:
        return f"{MISSING} there are no training samples"
    an_epoch = backend.updates(samples, params.train.batch_size)
    return f"{count(an_epoch)} an epoch, {count(an_epoch * params.train.epochs)} in all, at most"


def device(wanted: str) -> str:
    try:
        chosen = backend.choose_device(wanted)
    except ValueError as error:
        return plain(error)
    return plain(f"{chosen.kind} ({chosen.name}), {chosen.why}")


page()
