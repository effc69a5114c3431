"""What the state folder takes, kind by kind, against its budget."""

import streamlit as st

from app import backend, charts
from app.format import percent, plain, size, spoken

CAN_GO = "#C9781F"  # amber: what can be freed
STAYS = charts.MUTED


def show() -> None:
    try:
        used = backend.disk()
    except (ValueError, OSError) as error:
        st.subheader("Disk", anchor=False)
        st.caption(spoken(error))
        return
    budget = used.budget_bytes
    st.subheader(f"Disk: {size(used.used_bytes)}" + (f" of {size(budget)}" if budget else ""), anchor=False)
    kinds = sorted(used.by_kind.items(), key=lambda entry: -entry[1])
    rows = [(name.replace("_", " ").capitalize(), taken, size(taken)) for name, taken in kinds]
    colours = [CAN_GO if name == "checkpoints" else STAYS for name, _ in kinds]
    st.echarts_chart(
        charts.hbar(rows, colours),
        height=8 + 24 * len(rows),
        key="disk",
        alt=f"Disk used by kind: {', '.join(f'{name} {text}' for name, _, text in rows)}",
    )
    share = f"{percent(used.used_bytes / budget)} of the budget is used; " if budget else ""
    st.caption(plain(f"{share}{size(used.free_bytes)} are free on the file system."))
