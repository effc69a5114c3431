"""How far a model can be trusted: its test split as confusion, reliability and the worst answers first."""

from collections.abc import Callable

import streamlit as st

from app import confusions
from app.charts import MUTED, Option, base, bottom_axis, value_axis
from app.format import MISSING, several
from app.trade_facts import at
from flows.control import Judgement

HEIGHT = 220
WORST = 50  # answers that are listed


def show(found: Judgement, open_time: Callable[[int], None]) -> None:
    """Draws the test split; a click on one of the worst answers opens its time."""
    right = sum(row.actual == row.predicted for row in found.rows)
    st.subheader(
        f"Test split: {right} of {several(len(found.rows), 'sample')} answered right, the rest below", anchor=False
    )
    left, middle, last = st.columns([5, 5, 7], gap="medium")
    with left:
        st.markdown("**Confusion**, counts")
        confusions.tables([confusions.matrix(found.actions, found.confusion)], key="confusion")
    with middle:
        st.markdown("**Reliability**, said against happened")
        st.echarts_chart(reliability(found), height=HEIGHT, key="reliability", alt="Reliability diagram")
    with last:
        st.markdown("**Worst first**, by loss")
        worst(found, open_time)


def reliability(found: Judgement) -> Option:
    """Dots on the diagonal mean what they say; a larger dot stands for more samples."""
    most = max((one.samples for one in found.reliability), default=1)
    series = {
        "type": "line",
        "data": [
            {
                "value": [100 * one.said, 100 * one.happened, one.samples],
                "symbolSize": 7 + 11 * (one.samples / most) ** 0.5,
            }
            for one in found.reliability
        ],
        "symbol": "circle",
        "lineStyle": {"width": 1.5},
        "label": {"show": True, "position": "top", "formatter": "{@[2]}", "fontSize": 11},
        "markLine": {
            "silent": True,
            "symbol": "none",
            "label": {"show": False},
            "lineStyle": {"color": MUTED, "type": "solid", "width": 1},
            "data": [[{"coord": [0, 0]}, {"coord": [100, 100]}]],
        },
    }
    return base(
        {"top": 24, "bottom": 22, "right": 16},
        xAxis=bottom_axis("said, % (numbers are samples)", min=0, max=100),
        yAxis=value_axis("right, %", min=0, max=100),
        tooltip={"trigger": "item", "confine": True, "formatter": "said {@[0]} %, right {@[1]} %, {@[2]} samples"},
        series=[series],
    )


def worst(found: Judgement, open_time: Callable[[int], None]) -> None:
    rows = found.rows[:WORST]

    def clicked() -> None:
        if chosen := st.session_state["worst"]["selection"]["rows"]:
            open_time(rows[chosen[0]].time)

    st.dataframe(
        {
            "Time": [at(row.time).removesuffix(" UTC") for row in rows],
            "Was": [row.actual for row in rows],
            "Said": [row.predicted for row in rows],
            "Loss": [row.loss for row in rows],
            "Trade": [row.annotation_id or MISSING for row in rows],
        },
        hide_index=True,
        height=247,
        column_config={
            "Time": st.column_config.TextColumn("Time, UTC", width=132),
            "Was": st.column_config.TextColumn(width=56),
            "Said": st.column_config.TextColumn(width=56),
            "Loss": st.column_config.NumberColumn(format="%.2f", width=60),
            "Trade": st.column_config.TextColumn(width=70),
        },
        key="worst",
        selection_mode="single-row",
        on_select=clicked,
    )
