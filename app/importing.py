"""Importing files: sent, checked apart from `data/`, shown, and put into it only after a question."""

import re
from typing import Any

import streamlit as st

from app import dataset_reader, text_table
from app.candle_files import candle_files
from app.format import plain, several, short, spoken
from app.orders import REFUSALS
from flows import control
from flows.control import Imported, LibraryEntry, Upload, Wanted
from flows.errors import classify

OPEN, READY, REFUSED = "import is open", "import that is checked", "why an import was refused"
ASKED_FOR = "files and settings of the last check"
MORE = re.compile(r" \((\d+) more\)$")  # on the first of several findings
QUESTION, SAID = "version or import to put into data/", "what came of a change of data/"
ANNOTATIONS_MIB, MOST_MIB = 64, 100  # of trades, and of a file of candles; the importer takes no more
HERE, OWN = "Those of this dataset", "Own files"
FINDINGS_HEIGHT, LINES_IN_SIGHT, MOST_FINDINGS = 282, 5, 1000


def button() -> None:
    shown = st.session_state.get(OPEN, False)
    if st.button("Close import" if shown else "Import files", key="import"):
        st.session_state[OPEN] = not shown
        st.session_state.pop(REFUSED, None)
        st.rerun()


def section(known: list[LibraryEntry]) -> None:
    """The form, what was found in the files, and the way into `data/`."""
    if not st.session_state.get(OPEN):
        return
    with st.container(border=True):
        left, right = st.columns([4, 5], gap="large")
        with left:
            form(known)
        with right:
            result(known)


def form(known: list[LibraryEntry]) -> None:
    annotations = st.file_uploader(
        "Annotated trades, CSV or Parquet",
        ["csv", "parquet"],
        max_upload_size=ANNOTATIONS_MIB,
        key="annotations file",
    )
    current = next((entry for entry in known if entry.current), None)
    choices = [HERE, OWN] if current else [OWN]
    origin = st.segmented_control("Candles", choices, default=choices[0], required=True)
    candles: list[Upload] = []
    meant: dict[str, Any] = {"candles_of": current.version if current else None}
    if origin == OWN:
        candles, meant = candle_files(MOST_MIB)
    name = st.text_input("Name of the dataset", max_chars=80, placeholder="Binance August 2024", live=True)
    skip = st.toggle("Leave out trades that break a rule", help="They are told, and stay out of the dataset.")
    sent = [annotations.file_id if annotations else "", *((one.label, one.symbol, one.timeframe) for one in candles)]
    forget_other([*sent, name, skip, str(meant)])
    lacking = "" if annotations else "annotated trades"
    lacking = lacking or ("" if name.strip() else "a name") or ("" if origin == HERE or candles else "candle files")
    told = f"Needs {lacking}." if lacking else "Nothing is put into data/ by this."
    if st.button("Check files", type="primary", disabled=bool(lacking), help=told, key="check"):
        assert annotations is not None
        check(
            Upload(label=annotations.name, content=annotations.getvalue()),
            candles,
            Wanted(name=name.strip(), skip_rejected=skip, **meant),
        )


def forget_other(asked: list[Any]) -> None:
    """What was found in other files, or for other settings, is no answer any more."""
    if st.session_state.get(ASKED_FOR) != asked:
        st.session_state[ASKED_FOR] = asked
        st.session_state.pop(READY, None)
        st.session_state.pop(REFUSED, None)


def check(annotations: Upload, candles: list[Upload], wanted: Wanted) -> None:
    st.session_state.pop(READY, None)
    st.session_state.pop(REFUSED, None)
    try:
        with st.spinner("Checking the files"):
            st.session_state[READY] = control.bring_in(annotations, candles, wanted)
    except REFUSALS as error:
        st.session_state[REFUSED] = classify(error).message


def result(known: list[LibraryEntry]) -> None:
    """Every finding of refused files, or what accepted ones became."""
    refused, ready = st.session_state.get(REFUSED), st.session_state.get(READY)
    if refused:
        lines = refused.splitlines()
        more = MORE.search(lines[0])
        lines = [MORE.sub("", lines[0]), *lines[1:]]
        told = f"{several(int(more[1]) + 1, 'finding')}, the first: " if more else ""
        st.error(f"{told}{spoken(lines[0])}. Nothing was imported; the dataset in data/ is as it was.")
        if len(lines) > 1:
            findings(lines)
    elif ready:
        accepted(ready, any(entry.current for entry in known))
    else:
        st.caption(
            "The files are checked by the rules of every training: columns, times with a zone, prices inside their "
            "candles, exits after entries, gaps. Each row is accepted or named. data/ changes only when you say so."
        )


def findings(lines: list[str]) -> None:
    """Each in full, however long: a row of `st.dataframe` would be cut."""
    with st.container(height=FINDINGS_HEIGHT if len(lines) > LINES_IN_SIGHT else "content", border=False):
        text_table.draw(["Findings"], {str(at): [line] for at, line in enumerate(lines[:MOST_FINDINGS], 1)}, "findings")
    if len(lines) > MOST_FINDINGS:
        st.caption(f"The first {MOST_FINDINGS} of {several(len(lines), 'finding')}.")


def accepted(ready: Imported, replaces: bool) -> None:
    report = ready.report
    st.markdown(
        f"**{report['trades']} of {several(report['rows'], 'row')} accepted**: {report['long']} long, "
        f"{report['short']} short. This is version {short(ready.version)}; data/ has not changed yet."
    )
    st.table(
        {
            f"{plain(row['symbol'])} {row['timeframe']}": f"{row['accepted']:,} of {several(row['rows'], 'candle')}, "
            f"{row['first'][:10]} to {row['last'][:10]}, read as {plain(row['times'])}"
            for row in report["candles"]
        },
        border="horizontal",
    )
    if told := report["rejections"] + report["warnings"]:
        findings(told)
    if st.button("Put it into data/", type="primary", key="put"):
        if replaces:
            st.session_state[QUESTION] = ("import", ready.import_id, ready.version)
            st.rerun()
        else:
            carry_out("import", ready.import_id)
            st.rerun()


def offer_use(entry: LibraryEntry) -> None:
    st.session_state[QUESTION] = ("version", entry.version, entry.version)
    st.rerun()


def ask() -> None:
    """Opens the question that a press left behind, and says what came of the last one."""
    if said := st.session_state.pop(SAID, None):
        (st.info if said[0] else st.error)(said[1])
    if wanted := st.session_state.pop(QUESTION, None):
        confirm(*wanted)


@st.dialog("Replace the dataset in data/?")
def confirm(kind: str, name: str, version: str) -> None:
    current = next((entry for entry in dataset_reader.library() if entry.current), None)
    leaving = f"Version {short(current.version)} leaves" if current else "Nothing leaves"
    st.markdown(
        f"Version {short(version)} goes into data/ and data.dvc. {leaving} data/ and stays in the DVC cache, every "
        "file checked before anything is replaced: choose it here and press *Use this version* to get it back. "
        "Runs that are queued or running keep the version they began with."
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep data/"):
            st.rerun()
        if st.button("Replace data/", type="primary", key="confirmed", on_click=carry_out, args=(kind, name)):
            st.rerun()


def carry_out(kind: str, name: str) -> None:
    try:
        left = control.put_in_use(name) if kind == "import" else control.use(name)
    except REFUSALS as error:
        st.session_state[SAID] = (False, plain(classify(error).message))
        return
    for key in (READY, REFUSED, OPEN):
        st.session_state.pop(key, None)
    dataset_reader.library.clear()
    st.query_params.clear()
    kept = f" Version {short(left)} stays in the DVC cache." if left else ""
    st.session_state[SAID] = (True, f"data/ and data.dvc hold another version now.{kept} Commit data.dvc to share it.")
