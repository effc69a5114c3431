"""Data: is this what was meant to be taught? The versions, the trades on their candles, findings and a profile."""

from typing import Any

import streamlit as st

from app import address, backend, dataset_reader, dataset_shape, health, importing, trade_export, versions_table
from app.candles import HEIGHT, SHOWN, chart, frame
from app.dataset_reader import library, window
from app.format import count, plain, several, short, spoken
from app.trade_facts import facts
from app.trade_marks import marks
from dataset.annotations import Annotation
from dataset.config import PreprocessConfig
from dataset.findings import Finding
from dataset.schema import DatasetInfo
from flows.control import LibraryEntry

ROOM = 1.4  # a trade longer than the usual view is shown with as much around it
FINDINGS_HEIGHT = 282  # a row cut in half says that there are more


def page() -> None:
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    left.title("Data", anchor=False)
    importing.ask()
    health.watch()
    try:
        known, config = library(), backend.defaults().preprocess
    except (ValueError, OSError) as error:
        st.error(spoken(error))
        return
    with right.container(horizontal=True, horizontal_alignment="right"):
        importing.button()
    importing.section(known)
    if not known:
        st.markdown("No dataset yet. Fetch the sample with `make data`, or import annotations and candles.")
        return
    entry = version_input(known)
    if not entry.restorable:
        st.warning(
            f"Version {short(entry.version)} is named here, but its files are not. Try `dvc fetch --all-commits`."
        )
    else:
        dataset(entry, config)
    versions_table.show(known)


def version_input(known: list[LibraryEntry]) -> LibraryEntry:
    """The dataset version of the address, else the first."""
    found = {entry.version: entry for entry in known}
    wanted = st.query_params.get(address.DATASET, "")
    asked = next((place for place, name in enumerate(found) if wanted and name.startswith(wanted)), None)
    if wanted and asked is None:
        st.warning(f"The link's dataset version {plain(wanted)} is not known here; another one is shown.")

    def name(version: str) -> str:
        return versions_table.title(found[version])

    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Dataset version", list(found), index=asked or 0, format_func=name, width=420)
        slot = st.empty()
    if chosen != next(iter(found)) or asked is not None:
        st.query_params[address.DATASET] = short(chosen)
    entry = found[chosen]
    if not entry.current and entry.restorable:
        with slot.container(key="use", height="content"):
            if st.button("Use this version"):
                importing.offer_use(entry)
    return entry


def dataset(entry: LibraryEntry, config: PreprocessConfig) -> None:
    try:
        info, found = dataset_reader.info(entry.version), dataset_reader.findings(entry.version)
        trades = dataset_reader.trades(entry.version)
        st.markdown(answer(entry, trades, found, config))
        if trades:
            on_candles(entry.version, info, trades)
    except (ValueError, OSError) as error:
        st.error(spoken(str(error).splitlines()[0]))
        return
    show_findings(found, len(trades))
    if trades and not any(finding.severity == "error" for finding in found):
        made = samples(entry.version, config)
        dataset_shape.show(dataset_reader.profile(entry.version, config), None if isinstance(made, str) else made)


def answer(entry: LibraryEntry, trades: list[Annotation], found: list[Finding], config: PreprocessConfig) -> str:
    """The dataset in a sentence."""
    told = entry.simulated and "simulated" not in entry.name.lower()
    name = f"**{plain(entry.name) or 'This version'}**" + (" (simulated)" if told else "")
    long, gained = (sum(part) for part in ([t.direction > 0 for t in trades], [t.in_profit for t in trades]))
    said = f"{name}: {several(len(trades), 'trade')}, {long} long and {len(trades) - long} short, {gained} in profit"
    wrong = sum(finding.severity == "error" for finding in found)
    if wrong:
        return f"{said}. It cannot be trained on before the {several(wrong, 'error')} below are mended."
    made = samples(entry.version, config)
    if isinstance(made, str):
        return f"{said}. It gives no samples with these settings: {plain(made)}."
    kinds = ", ".join(f"{number} {action}" for action, number in made["samples_by_action"].items())
    return f"{said}. They give {count(made['samples'])} samples: {kinds}."


def samples(version: str, config: PreprocessConfig) -> dict[str, Any] | str:
    """What a training would make of it, or the sentence that says why it could not."""
    try:
        return dataset_reader.facts(version, config)
    except ValueError as error:
        return str(error).splitlines()[0]


def on_candles(version: str, info: DatasetInfo, trades: list[Annotation]) -> None:
    """The selected trade on the candles of one of its timeframes, and its facts."""
    ids = [trade.annotation_id for trade in trades]
    wanted = st.query_params.get("trade", "")
    place = ids.index(wanted) if wanted in ids else 0
    if wanted and wanted not in ids:
        st.warning(f"The link's trade {plain(wanted)} is not in this version; another one is shown.")
    trade = trades[place]
    left, right = st.columns([7, 3], gap="medium")
    with left:
        timeframe = timeframe_input(info)
        shown = window(version, trade.symbol, timeframe, (trade.entry_time + trade.exit_time) // 2)
        others = [one for one in trades if one is not trade and one.symbol == trade.symbol]
        points, lines = marks(shown, trade, others)
        length = shown.place(trade.exit_time) - shown.place(trade.entry_time)
        spec = chart(shown, frame(shown), points, lines, in_sight=max(SHOWN, round(ROOM * length)))
        st.echarts_chart(
            spec,
            height=HEIGHT,
            key=f"candles {version} {place} {timeframe}",
            alt=f"{timeframe} candles with entry, exit, stop and decision of the selected trade",
        )
    with right:
        st.markdown(f"**Trade {plain(trade.annotation_id)}** :gray[{place + 1} of {len(trades)}]")
        turn(ids, place)
        st.table(facts(trade), border="horizontal")
        st.download_button(
            "Download trades as CSV", lambda: trade_export.trades_csv(version), "annotations.csv", "text/csv"
        )


def timeframe_input(info: DatasetInfo) -> str:
    return str(
        st.segmented_control(
            "Timeframe",
            info.timeframes,
            default=info.timeframes[min(1, len(info.timeframes) - 1)],
            required=True,
            key="timeframe",
            bind="query-params",
            label_visibility="collapsed",
        )
    )


def turn(ids: list[str], place: int) -> None:
    """Previous and Next: the selected trade is in the address."""

    def open_trade(name: str) -> None:
        st.query_params["trade"] = name

    with st.container(horizontal=True):
        for title, step in (("Previous", -1), ("Next", 1)):
            target = ids[(place + step) % len(ids)]
            st.button(title, on_click=open_trade, args=(target,), disabled=len(ids) < 2)


def show_findings(found: list[Finding], accepted: int) -> None:
    errors = sum(finding.severity == "error" for finding in found)
    if not found:
        st.subheader("Findings: none", anchor=False)
        st.caption(f"Every rule was checked on {several(accepted, 'trade')} and all candles.")
        return
    st.subheader(f"Findings: {several(errors, 'error')}, {several(len(found) - errors, 'warning')}", anchor=False)
    st.dataframe(
        {
            "File": [finding.file for finding in found],
            "Row": [finding.row for finding in found],
            "Field": [finding.field for finding in found],
            "Finding": [finding.message for finding in found],
            "Effect": ["stops training" if finding.severity == "error" else "kept" for finding in found],
        },
        hide_index=True,
        height=FINDINGS_HEIGHT if len(found) > 7 else "auto",
        placeholder="—",
        column_config=finding_columns(),
    )


def finding_columns() -> dict[str, Any]:
    text = st.column_config.TextColumn
    return {
        "File": text(),
        "Row": st.column_config.NumberColumn(width=70, alignment="left"),
        "Field": text(),
        "Finding": text(width=460),
        "Effect": text(),
    }


page()
