"""Overview: what serves now, what runs, and whether anything is wrong."""

import streamlit as st

from app import backend, champion, disk, health, newest
from app.format import duration, plain, several
from app.live import ACTIVE, EVERY_S
from flows.control import Service
from flows.runview import RunView

NEWEST = 6
IDLE_S = 15  # between looks while nothing is queued or runs


def page() -> None:
    head, action = st.columns([4, 1], vertical_alignment="bottom")
    head.title("Overview", anchor=False)
    with action.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Train a model"):
            st.switch_page("views/train.py")
    health.watch()
    left, right = st.columns([5, 4], gap="medium")
    with left:
        st.subheader("Champion", anchor=False)
        champion.show()
    moving = any(view.state in ACTIVE for view in backend.runs())
    every = EVERY_S if moving else IDLE_S
    with right:
        st.subheader("Running", anchor=False)
        st.fragment(running, run_every=every)(moving)
        services()
    st.fragment(latest, run_every=every)()
    left, _ = st.columns([5, 4], gap="medium")
    with left:
        disk.show()


def running(moving: bool) -> None:
    """The run that trains, and how many wait."""
    views = backend.runs()
    if moving != any(view.state in ACTIVE for view in views):
        st.rerun()  # one has begun or the last has ended: another timer
    now = [view for view in views if view.state == "running"]
    waiting = sorted((view for view in views if view.state == "queued"), key=lambda view: view.place or 0)
    with st.container(border=True):
        for view in now:
            st.markdown(f"**{plain(view.name)}** :blue-badge[running]")
            share, words = progress(view)
            st.progress(share, text=plain(words))
        if not now:
            st.caption("Nothing runs." if not waiting else "Nothing runs yet.")
        if waiting:
            first = waiting[0]
            why = first.reason
            st.caption(
                f"Queue: {several(len(waiting), 'run')}. Next: {plain(first.name)}"
                + (f", {plain(why)}." if why else ".")
            )


def progress(view: RunView) -> tuple[float, str]:
    """How far the run is, as a share of its training, and in words."""
    stage = next((name for name, state, _ in view.stages if state == "running"), "")
    done = view.progress
    if done is None:
        return 0.0, stage.capitalize() or "Starting"
    left = f" · about {duration(done.eta_s)} left" if done.eta_s is not None else ""
    share = done.step / done.steps if done.steps else 0.0
    return min(1.0, share), f"{stage.capitalize()} · epoch {done.epoch} of {done.epochs}{left}"


def latest() -> None:
    st.subheader("Newest runs", anchor=False)
    views = backend.runs()[:NEWEST]
    if not views:
        st.caption("No runs yet. A first training of lite takes a few minutes.")
        return
    chosen = newest.pick(views)
    if chosen:
        st.switch_page("views/train.py", query_params={"run": chosen})


def services() -> None:
    st.subheader("Services", anchor=False)
    st.table({entry.name: state(entry) for entry in backend.services()}, border="horizontal")


def state(entry: Service) -> str:
    """Whether it answers and where; what answers nobody says in its own words what it does."""
    colour = "green" if entry.up else "red"
    said = "answers" if entry.up else "does not answer"
    if not entry.url or entry.name == "Worker":
        return f":{colour}[{plain(entry.detail)}]"
    return f":{colour}[{said}] at {plain(entry.url.removesuffix('/api'))}"


page()
