"""Train: what to train, what it takes, and the run that it becomes."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import address, backend, facts, health, live, orders
from app.format import plain, short, spoken
from app.settings import SECTIONS, Setting, applied, ask, changes, keep, recall, settings
from flows.params import Params
from model.kinds import PRESETS

ORDER = ("lite", "base", "wide")  # legacy is there to be counted, not to be trained
OPEN = (
    "model.kind",
    "model.preset",
    "train.epochs",
    "train.batch_size",
    "train.precision",
    "train.checkpointing",
    "train.seed",
)
FOLD_HEIGHT = 330  # so that Start stays in sight of an open fold
INPUT_HEIGHT = 38  # of the number beside the switch


def page() -> None:
    st.title("Train", anchor=False)
    orders.ask_to_cancel()
    down = health.watch()
    try:
        params = backend.defaults()
    except ValueError as error:
        st.error(spoken(error))
    else:
        form(params, "Prefect" in down)
    live.follow("Prefect" in down)


@st.fragment
def form(params: Params, closed: bool) -> None:
    """Inputs at the left, what follows from them at the right."""
    left, right = st.columns([4, 5], gap="large")
    known = settings(params)
    if problem := address.take_settings(known, params):
        st.error(spoken(problem))
    with left:
        values, dataset = inputs(known)
        wanted = changes(values, known)
        chosen, problem = applied(params, wanted)
        with start_row(wanted, dataset, problem, closed):
            facts.brief(chosen, dataset)
    with right, st.container(border=True):
        facts.show(chosen, dataset)
    if orders.sending():
        orders.send(wanted, dataset)


def inputs(known: Mapping[str, Setting]) -> tuple[dict[str, Any], str | None]:
    kind = segments(known["model.kind"], "Kind", tuple(PRESETS))
    presets = tuple(name for name in ORDER if name in PRESETS[kind])
    values = {"model.kind": kind, "model.preset": segments(known["model.preset"], "Preset", presets)}
    dataset = dataset_input()
    with st.grid(3, min_column_width=100):
        for key in ("train.epochs", "train.batch_size", "train.precision"):
            values[key] = ask(known[key])
    with st.grid(2, min_column_width=190, vertical_alignment="bottom"):
        values["train.seed"] = ask(known["train.seed"])
        with st.container(height=INPUT_HEIGHT, border=False, vertical_alignment="center"):
            values["train.checkpointing"] = ask(known["train.checkpointing"], title="Gradient checkpointing")
    used = {name: title for name, title in SECTIONS.items() if name != "dqn" or kind == "dqn"}
    rest = {key: entry for key, entry in known.items() if key not in OPEN and entry.section in used}
    return values | folded(rest, used), dataset


def segments(setting: Setting, title: str, options: tuple[str, ...]) -> str:
    recall(setting)
    if st.session_state[setting.key] not in options:  # a preset that params or a link name and the page does not offer
        st.session_state[setting.key] = "base" if "base" in options else options[0]
    chosen = st.segmented_control(title, options, required=True, width="stretch", key=setting.key)
    return str(keep(setting, chosen))


def dataset_input() -> str | None:
    """The dataset version, the one in `data/` first."""
    try:
        found = {entry.version: entry for entry in backend.datasets()}
    except (ValueError, OSError) as error:
        st.error(spoken(error))
        return None

    def name(version: str) -> str:
        samples = found[version].facts.get("samples")
        words = [short(version), f"{samples} samples" if samples else "", "in data/" if found[version].current else ""]
        return " · ".join(word for word in words if word)

    if not found:
        st.error("There is no dataset: data/ is missing. Fetch the sample with `make data`.")
        return None
    wanted = st.session_state.get(address.CHOSEN_DATASET)
    if wanted not in (None, *found):
        st.warning(f"Dataset version {plain(short(str(wanted)))} is not known here any more; another is chosen.")
        del st.session_state[address.CHOSEN_DATASET]
    return str(st.selectbox("Dataset version", list(found), format_func=name, key=address.CHOSEN_DATASET))


def folded(known: Mapping[str, Setting], sections: Mapping[str, str]) -> dict[str, Any]:
    """The other settings, folded; how many are changed stands on the fold."""
    for entry in known.values():
        recall(entry)
    differing = sum(st.session_state[key] != entry.default for key, entry in known.items())
    words = f"{differing} of {len(known)} changed" if differing else f"{len(known)} at their defaults"
    values = {}
    fold = st.expander(f"Advanced settings: {words}", key="advanced")
    with fold.container(height=FOLD_HEIGHT, border=False):
        for section, title in sections.items():
            st.markdown(f"**{title}**")
            with st.grid(2, min_column_width=150):
                for key, entry in known.items():
                    if entry.section == section:
                        values[key] = ask(entry)
    return values


def start_row(wanted: dict[str, dict[str, Any]], dataset: str | None, problem: str, closed: bool) -> Any:
    """The button, and the place beside it."""
    key = orders.next_key([wanted, dataset])
    if problem or orders.refused():
        st.error(spoken(problem or orders.refused()))
    reason = "Prefect does not answer." if closed else "There is no dataset." if dataset is None else problem
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button(
        "Starting…" if orders.sending() else "Start training",
        type="primary",
        width=180,
        key="start",
        disabled=bool(reason) or orders.sending(),
        help=plain(reason) or None,
        on_click=orders.press,
        args=(key,),
    )
    return row.container()


page()
