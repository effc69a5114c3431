"""Runs: all of them in a table, and up to six side by side."""

from collections.abc import Sequence

import streamlit as st

from app import address, backend, catalogue, comparison, health, links, reproduction, traces
from app.format import plain, several, spoken
from app.live import ACTIVE
from app.settings import settings
from flows.runview import RunView

EVERY_S, IDLE_S = 3, 15  # while a run is queued or runs, and else


def page() -> None:
    head, action = st.columns([4, 1], vertical_alignment="bottom")
    head.title("Runs", anchor=False)
    moving = any(view.state in ACTIVE for view in backend.all_runs())
    with action.container(horizontal=True, horizontal_alignment="right"):
        st.download_button("Download CSV", lambda: catalogue.export(backend.all_runs()), "runs.csv", "text/csv")
    closed = "Prefect" in health.watch()
    st.fragment(body, run_every=EVERY_S if moving else IDLE_S)(moving, closed)


def body(moving: bool, closed: bool) -> None:
    """Everything that changes: filters, table and comparison are drawn again while a run is queued or runs."""
    views = backend.all_runs()
    if moving != any(view.state in ACTIVE for view in views):
        st.rerun()  # one has begun or the last has ended: another timer
    if not views:
        empty()
        return
    found = catalogue.filtered(views)
    if found:
        catalogue.table(found, address.compared(), select)
    else:
        st.caption("No run passes these filters.")
    compared(views, closed)


def empty() -> None:
    st.caption("No runs yet. A first training of lite takes a few minutes.")
    if st.button("Train a model"):
        st.switch_page("views/train.py")


def select(key: str, ids: list[str]) -> None:
    """Takes the rows that are ticked into the address; runs that a filter hides stay there."""
    ticked = [ids[row] for row in st.session_state[key]["selection"]["rows"]]
    hidden = [run_id for run_id in address.compared() if run_id not in ids]
    address.compare([*hidden, *ticked])


def compared(views: Sequence[RunView], closed: bool) -> None:
    """The runs of the address side by side, in its order."""
    known = {view.run_id: view for view in views}
    wanted = address.compared()
    if reason := reproduction.refusal():
        st.error(spoken(reason))
    if missing := [run_id for run_id in wanted if run_id not in known]:
        st.warning(f"{several(len(missing), 'run')} of the link cannot be found here: {plain(', '.join(missing))}.")
    chosen = [known[run_id] for run_id in wanted if run_id in known]
    shown = chosen[: address.MOST]
    if not shown:
        st.info(f"Select up to {address.MOST} runs to compare them.")
        return
    more = (
        f" · {address.MOST} at most, {len(chosen) - len(shown)} more are selected" if len(chosen) > len(shown) else ""
    )
    backend.hold(shown)
    st.subheader(f"{several(len(shown), 'run')} compared{more}", anchor=False)
    for pair in reproduction.twins(shown):
        st.markdown(reproduction.verdict(*pair))
    found = [traces.traces(view) for view in shown]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        comparison.curves(shown, found)
    with right:
        comparison.facts(shown, found)
        actions(shown, closed)
    comparison.judgements(shown)


def actions(shown: Sequence[RunView], closed: bool) -> None:
    """What can be done with one of the runs: the first, until another is chosen."""
    view = shown[0]
    if len(shown) > 1:
        view = st.selectbox("Run", shown, format_func=comparison.name, key=f"act {[one.run_id for one in shown]}")
    with st.container(horizontal=True, vertical_alignment="center"):
        key = st.session_state.setdefault(f"reproduce {view.run_id}", backend.new_key())
        st.button(
            "Reproduce",
            disabled=closed,
            help="Prefect does not answer." if closed else REPRODUCE,
            on_click=reproduction.start,
            args=(view, key),
        )
        for name, link in links.of(view).items():
            st.link_button(f"Open in {name}", link)
        same_again(view)


REPRODUCE = "Trains with the same settings and dataset version, then compares the weights."


def same_again(view: RunView) -> None:
    """A link: `st.switch_page` makes a step of history of each setting, and crosses with the timers of this view."""
    try:
        asked, why = address.offer(view, settings(backend.defaults())), "Opens the form with this run's settings."
    except ValueError as error:
        asked, why = {}, plain(error)
    st.page_link("views/train.py", label="Same again", disabled=not asked, help=why, query_params=asked)


page()
