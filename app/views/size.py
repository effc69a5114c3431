"""Size: how big each preset is, counted from the network itself, and whether its documentation is true."""

import streamlit as st

from app import backend, charts
from app.format import apart, count, percent, size
from model.presets import DOCUMENTED, preset

PRESETS = ("lite", "base", "wide", "legacy")
BYTES = {"FP32": 4, "FP16": 2, "Checkpoint": 12, "Training state": 16}  # a parameter


def page() -> None:
    st.title("Size", anchor=False)
    name = st.segmented_control(
        "Preset",
        PRESETS,
        default="base",
        required=True,
        key="preset",
        bind="query-params",
        label_visibility="collapsed",
    )
    counted, documented = backend.parameters(preset(name)), DOCUMENTED[name]
    st.subheader(
        f"{count(counted)} parameters counted, {count(documented)} documented: {apart(counted, documented)}",
        anchor=False,
    )
    components(name)
    presets()
    riddle(name == "legacy")


def components(name: str) -> None:
    rows = sorted(backend.components(preset(name)), key=lambda row: row.count, reverse=True)
    left, right = st.columns(2, gap="medium")
    bars = [(row.component, row.count, f"{count(row.count)} · {percent(row.share)}") for row in rows]
    with left:
        st.subheader("Where the parameters are", anchor=False)
        st.echarts_chart(charts.hbar(bars), height=20 + 28 * len(bars), key="bars", alt="Parameters by component")
    with right:
        st.subheader("Component by component", anchor=False)
        st.dataframe(
            {
                "Component": [row.component for row in rows],
                "Shape": [row.shape for row in rows],
                "Parameters": [count(row.count) for row in rows],
                "Share": [percent(row.share) for row in rows],
                "FP32": [size(row.bytes) for row in rows],
            },
            hide_index=True,
            column_config=right_aligned("Parameters", "Share", "FP32"),
        )


def presets() -> None:
    counts = {name: backend.parameters(preset(name)) for name in PRESETS}
    columns = {title: [size(each * counts[name]) for name in PRESETS] for title, each in BYTES.items()}
    st.subheader("Presets side by side", anchor=False)
    st.dataframe(
        {
            "Preset": list(PRESETS),
            "Counted": [count(counts[name]) for name in PRESETS],
            "Documented": [count(DOCUMENTED[name]) for name in PRESETS],
            **columns,
        },
        hide_index=True,
        column_config=right_aligned("Counted", "Documented", *BYTES),
    )
    st.caption(
        "Bytes a parameter: FP32 4, FP16 2, a checkpoint 12 (weights and two moments of AdamW), "
        "the training state 16 (and the gradients)."
    )


def riddle(opened: bool) -> None:
    """Why the model that base replaced was never as small as was written."""
    counted, documented = backend.parameters(preset("legacy")), DOCUMENTED["legacy"]
    with st.expander("Why legacy needed so much memory", expanded=opened):
        st.markdown(
            f"It was documented with {count(documented)} parameters. Counted from its listed architecture it has "
            f"{count(counted)}, {apart(counted, documented)}. At 12 bytes a parameter a checkpoint is "
            f"{size(12 * counted)} on disk; at 16 bytes its training state is {size(16 * counted)}, before a single "
            "activation. It is counted here without being allocated."
        )


def right_aligned(*names: str) -> dict[str, object]:
    return {name: st.column_config.TextColumn(alignment="right") for name in names}


page()
