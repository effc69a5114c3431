"""Registry: which version serves, which may take its place, and which checkpoints may go."""

from collections.abc import Sequence

import streamlit as st

from app import address, health, pressed, promoting, pruning, registry_reader, version_words, whiskers
from app.format import MISSING, count, plain, short, spoken, tag, when
from app.registry_reader import Registry
from flows import control
from flows.control import VersionView

TABLE_HEIGHT = 282


def page() -> None:
    st.title("Registry", anchor=False)
    promoting.ask()
    pruning.ask()
    health.watch()
    pressed.say()
    with st.spinner("Asking the registry"):
        found = registry_reader.registry()
    if found.problem:
        st.subheader("Versions", anchor=False)
        st.warning(f"Versions cannot be told now: {spoken(found.problem)}. What serves is not changed by that.")
    elif not found.versions:
        st.subheader("Versions", anchor=False)
        st.markdown("No version yet. A training registers its model; the first becomes the champion.")
        if st.button("Train a model"):
            st.switch_page("views/train.py")
    else:
        versions(found)
    pruning.section()


def versions(found: Registry) -> None:
    champion = found.champion
    serves = f"Version {champion.version} serves" if champion else "No version is champion"
    st.subheader(f"{serves}, {len(found.versions)} registered", anchor=False)
    chosen = table(found)
    control.hold(versions=[chosen])
    left, right = st.columns([5, 4], gap="medium")
    with left:
        scores = version_words.rows(found.versions, chosen, champion)
        st.markdown(plain(version_words.answer(chosen, champion)))
        if scores:
            st.echarts_chart(
                whiskers.whiskers(scores, chosen.chance),
                height=whiskers.height(scores),
                key=f"scores {chosen.version}",
                alt="Balanced accuracy of versions with 95 % intervals beside chance, in percent",
            )
    with right:
        promoting.box(chosen, found)
        st.table(facts(chosen, found.versions), border="horizontal")


def table(found: Registry) -> VersionView:
    """All versions; a click selects one, and the address names it."""
    numbers = [entry.version for entry in found.versions]
    wanted = st.query_params.get(address.VERSION, "")
    known_here = wanted.isdecimal() and int(wanted) in numbers
    place = numbers.index(int(wanted)) if known_here else 0
    if wanted and not known_here:
        st.warning(f"The link's version {plain(wanted)} is not registered here; another one is shown.")
    key = f"versions {numbers[0]} {numbers[place]}"
    st.dataframe(
        {
            "Version": numbers,
            "Alias": [", ".join(entry.aliases) for entry in found.versions],
            "Balanced accuracy (95 %)": [version_words.scored(entry) for entry in found.versions],
            "Model": [version_words.model(entry) for entry in found.versions],
            "Dataset": [short(entry.dataset_version) or MISSING for entry in found.versions],
            "Data": ["simulated" if entry.simulated else "real" for entry in found.versions],
            "Run": [tag(entry.run_id) or MISSING for entry in found.versions],
            "Registered": [when(entry.created_at) for entry in found.versions],
        },
        hide_index=True,
        height=TABLE_HEIGHT if len(numbers) > 7 else "auto",
        column_config={
            "Version": st.column_config.NumberColumn(width=70, alignment="left"),
            "Alias": st.column_config.TextColumn(width=120),
            "Balanced accuracy (95 %)": st.column_config.TextColumn(alignment="right"),
            "Dataset": st.column_config.TextColumn(width=80),
            "Run": st.column_config.TextColumn(width=80),
        },
        key=key,
        selection_mode="single-row",
        selection_default={"selection": {"rows": [place]}},
        on_select=lambda: select(key, numbers, numbers[place]),
    )
    return found.versions[place]


def select(key: str, numbers: list[int], opened: int) -> None:
    """Only a row that was clicked changes the address: the one selected from the start is reported as well."""
    rows = st.session_state[key]["selection"]["rows"]
    if rows and numbers[rows[0]] != opened:
        st.query_params[address.VERSION] = str(numbers[rows[0]])


def same_weights(first: VersionView, second: VersionView) -> bool:
    return bool(first.weights_sha256) and first.weights_sha256 == second.weights_sha256


def facts(entry: VersionView, known: Sequence[VersionView]) -> dict[str, str]:
    twins = [str(one.version) for one in known if one is not entry and same_weights(one, entry)]
    found = {
        "Run": entry.run_id or MISSING,
        "Dataset": entry.dataset_version.removesuffix(".dir") or MISSING,
        "Parameters": count(entry.parameters) if entry.parameters else MISSING,
        "Weights": f"sha256 {entry.weights_sha256[:12]}" if entry.weights_sha256 else MISSING,
        "Same weights": f"version {', '.join(twins)}: each run registers its own" if twins else "",
        "Last became champion": entry.reason or MISSING,
    }
    return {name: plain(text) for name, text in found.items() if text}


page()
