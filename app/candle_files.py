"""Candle files that are sent: which symbol and timeframe each holds is asked, never believed from its name."""

import re
from typing import Any

import streamlit as st

from app.format import plain
from flows.control import Upload

TIMEFRAMES = ("1m", "5m", "15m", "30m", "1h", "4h", "1d")
STREAMS = ("1m", "15m", "1h")  # what a month of minutes has enough of
ALL_MIB = 300  # of all candle files together: the page holds them until they are checked
PAIR = re.compile(r"([A-Za-z0-9]{2,10})[_/-]([A-Za-z]{3,5})(?![A-Za-z])")
BAR = re.compile(r"(?<![A-Za-z0-9])([1-9][0-9]?[mhd])(?![A-Za-z0-9])")


def candle_files(most_mib: int) -> tuple[list[Upload], dict[str, Any]]:
    """Uploads with their symbol and timeframe, and which symbols and timeframes the dataset is made of."""
    sent = st.file_uploader(
        "Candles, CSV, Parquet or Feather",
        ["csv", "parquet", "feather"],
        accept_multiple_files=True,
        max_upload_size=most_mib,
        key="candle files",
    )
    if sum(file.size for file in sent) > ALL_MIB * 2**20:
        st.error(f"The candle files have more than {ALL_MIB} MiB together. Take some away, or give them as Parquet.")
        return [], {}
    uploads = [described(number, file) for number, file in enumerate(sent)]
    symbols = list(dict.fromkeys(upload.symbol for upload in uploads if upload.symbol))
    primary, reference = pair(symbols) if symbols else ("", "")
    sent_steps = {upload.timeframe for upload in uploads if upload.symbol == primary}
    steps = st.multiselect(
        "Timeframes of the annotated symbol, short to long",
        TIMEFRAMES,
        default=[step for step in TIMEFRAMES if step in sent_steps.union(STREAMS)],
        help="The first is that of the annotations. Longer ones without a file are made from shorter ones.",
    )
    ordered = tuple(step for step in TIMEFRAMES if step in steps)
    return uploads, {"primary": primary, "reference": reference, "timeframes": ordered}


def pair(symbols: list[str]) -> tuple[str, str]:
    """Which symbol was annotated, and which one tells of the market around it."""
    with st.grid(2, min_column_width=120):
        primary = st.selectbox("Annotated symbol", symbols, key=f"annotated of {symbols}")
        others = [symbol for symbol in symbols if symbol != primary] or symbols
        reference = st.selectbox("Reference symbol", others, key=f"reference of {others}")
    return str(primary), str(reference)


def described(number: int, file: Any) -> Upload:
    """One file with what it is said to hold; its name is only a first guess."""
    pair, bar = PAIR.search(file.name), BAR.search(file.name)
    guess = bar[1] if bar and bar[1] in TIMEFRAMES else "1d" if "daily" in file.name.lower() else TIMEFRAMES[0]
    with st.grid(2, min_column_width=120):
        symbol = st.text_input(
            f"Symbol in {plain(file.name[:40])}",
            f"{pair[1]}/{pair[2]}".upper() if pair else "",
            max_chars=41,
            placeholder="ETH/USDT",
            key=f"symbol {number} {file.file_id}",
        )
        timeframe = st.selectbox(
            "Timeframe", TIMEFRAMES, index=TIMEFRAMES.index(guess), key=f"timeframe {number} {file.file_id}"
        )
    return Upload(label=file.name, content=file.getvalue(), symbol=symbol.strip(), timeframe=timeframe)
