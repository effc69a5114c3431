"""Size: how big each preset of each kind is, counted from the network itself, and whether its documentation is true."""

from typing import Any

import streamlit as st

from app import backend, charts, health
from app.format import MISSING, apart, count, percent, several, size
from model.kinds import PRESETS, preset
from model.size import CHECKPOINT_BYTES, TRAINING_BYTES, Row, Size

ORDER = ("lite", "base", "wide", "legacy")  # from small to large
USUAL = "transformer"
SHAPE = st.column_config.TextColumn(width=170)
TABLE_HEIGHT = 282  # a row cut in half says that there are more
NAMES = {"cross": "Cross-timeframe attention"}  # where the network's own word says too little
SEEN = 0.01  # share below which a bar is a hair


def page() -> None:
    st.title("Size", anchor=False)
    health.watch()
    with st.container(horizontal=True):
        kind = choose("Kind", list(PRESETS), USUAL, "kind")
        names = [name for name in ORDER if name in PRESETS[kind]]
        name = choose("Preset", names, "base", "preset" if kind == USUAL else f"{kind}-preset")
    sizes = {name: backend.size(preset(kind, name)) for name in names}
    st.subheader(verdict(sizes[name]), anchor=False)
    components(sizes[name])
    presets(sizes)
    if "legacy" in sizes:
        riddle(sizes["legacy"], opened=name == "legacy")


def choose(title: str, names: list[str], usual: str, key: str) -> str:
    """A row of names, whose choice lives in the address."""
    return str(
        st.segmented_control(
            title, names, default=usual, required=True, key=key, bind="query-params", label_visibility="collapsed"
        )
    )


def verdict(counted: Size) -> str:
    said = f"{count(counted.parameters)} parameters counted"
    if counted.documented is None:
        return f"{said}, none documented"
    return f"{said}, {count(counted.documented)} documented: {apart(counted.parameters, counted.documented)}"


def components(counted: Size) -> None:
    rows = sorted(counted.rows, key=lambda row: row.count, reverse=True)
    bars = shares(rows)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Where the parameters are**")
        st.echarts_chart(charts.hbar(bars), height=16 + 28 * len(bars), key="bars", alt="Parameters by component")
    with right:
        st.markdown("**Component by component**")
        st.dataframe(
            {
                "Component": [called(row) for row in rows],
                "Shape": [row.shape for row in rows],
                "Parameters": [count(row.count) for row in rows],
                "Share": [percent(row.share) for row in rows],
                "FP32": [size(row.bytes) for row in rows],
            },
            hide_index=True,
            column_config={"Shape": st.column_config.TextColumn(width=170)}
            | right_aligned("Parameters", "Share", "FP32"),
            height=TABLE_HEIGHT,
        )


def called(row: Row) -> str:
    return NAMES.get(row.component, row.component.capitalize())


def shares(rows: list[Row]) -> list[tuple[str, int, str]]:
    """A bar a component; those too small to see as a bar stand together in the last."""
    large = [(called(row), row.count) for row in rows if row.share >= SEEN]
    small = [row.count for row in rows if row.share < SEEN]
    bars = [*large, (several(len(small), "smaller part"), sum(small))] if small else large
    total = sum(row.count for row in rows)
    return [(name, number, f"{count(number)} · {percent(number / total)}") for name, number in bars]


def presets(sizes: dict[str, Size]) -> None:
    found = list(sizes.values())
    st.markdown("**Presets side by side**")
    st.dataframe(
        {
            "Preset": list(sizes),
            "Counted": [count(one.parameters) for one in found],
            "Documented": [MISSING if one.documented is None else count(one.documented) for one in found],
            "FP32": [size(one.fp32_bytes) for one in found],
            "FP16": [size(one.fp16_bytes) for one in found],
            "Checkpoint": [size(one.checkpoint_bytes) for one in found],
            "Training state": [size(one.training_bytes) for one in found],
        },
        hide_index=True,
        column_config=right_aligned("Counted", "Documented", "FP32", "FP16", "Checkpoint", "Training state"),
    )
    st.caption(
        f"A checkpoint takes {CHECKPOINT_BYTES} bytes a parameter: its value and the two moments of AdamW. "
        f"The training state takes {TRAINING_BYTES}: the same and the gradient."
    )


def riddle(legacy: Size, opened: bool) -> None:
    """Why the model that base replaced was never as small as was written."""
    documented = legacy.documented or legacy.parameters
    with st.expander("Why legacy needed so much memory", expanded=opened):
        st.markdown(
            f"{count(documented)} parameters were documented. Counted from its listed architecture it has "
            f"{count(legacy.parameters)}, {apart(legacy.parameters, documented)}. At {CHECKPOINT_BYTES} bytes a "
            f"parameter one checkpoint is {size(legacy.checkpoint_bytes)} on disk; at {TRAINING_BYTES} bytes its "
            f"training state is {size(legacy.training_bytes)} before a single activation. It is counted here without "
            "being allocated."
        )


def right_aligned(*names: str) -> dict[str, Any]:
    return {name: st.column_config.TextColumn(alignment="right") for name in names}


page()
