"""The version that serves: its score on its interval, beside the one before it and chance."""

from collections.abc import Sequence

import streamlit as st

from app import scores
from app.format import plain, short, spoken, when, within
from app.registered import SHELF, Found
from flows.control import VersionView
from model.kinds import title

CHAMPION = "champion"
LOOK_S, AGAIN_S = 1.0, 5.0  # before the registry has answered, and after
HEIGHT = 150


def show() -> None:
    """Draws the champion; a skeleton that is looked at again until the registry has answered."""
    waiting = SHELF.look() is None
    st.fragment(draw, run_every=LOOK_S if waiting else AGAIN_S)(waiting)


def draw(waiting: bool) -> None:
    found = SHELF.look()
    if waiting and found is not None:
        st.rerun()  # it is there: draw it once more, with a slower timer
    with st.container(border=True, height="stretch"):
        if found is None:
            st.skeleton(height=HEIGHT)
        else:
            box(found)


def box(found: Found) -> None:
    if isinstance(found, str):
        st.caption(f"The registry cannot be read: {spoken(found)}")
        return
    best = next((view for view in found if CHAMPION in view.aliases), None)
    if best is None:
        st.caption("No version is champion yet. The first trained model becomes it." if not found else NONE)
        return
    before = next((view for view in found if view.reason and view is not best), None)
    st.markdown(f"**Version {best.version}** · {' · '.join(map(plain, words(best)))}")
    shown = [best, *([before] if before else [])]
    rows = [row(view) for view in shown if view.score is not None]
    if rows:
        st.echarts_chart(
            scores.whiskers(rows, 100 * best.chance), height=54 + 36 * len(rows), key="champion", alt=said(shown)
        )
    st.caption(plain(note(shown)))


NONE = "No version is champion. Promote one on the command line: `pivotline registry --help`."


def words(view: VersionView) -> list[str]:
    data = f"trained on {'simulated ' if view.simulated else ''}dataset {short(view.dataset_version)}"
    return [title(view.kind, view.preset), data, when(view.created_at)] if view.kind else [when(view.created_at)]


def row(view: VersionView) -> scores.Whisker:
    low, high = view.interval or (view.score, view.score)
    return f"version {view.version}", 100 * (view.score or 0), 100 * (low or 0), 100 * (high or 0)


def said(shown: Sequence[VersionView]) -> str:
    scores = [f"version {view.version} {within(view.score, view.interval)}" for view in shown]
    return f"Balanced accuracy with its 95 % interval: {'; '.join(scores)}"


def note(shown: Sequence[VersionView]) -> str:
    """What the dots mean and whether they tell the two apart."""
    best = shown[0]
    if best.score is None:
        return "Its score on the test split is not known."
    said = f"Balanced accuracy on the test split: {within(best.score, best.interval)}"
    if best.interval is None:
        return f"{said}."
    if best.interval[0] <= best.chance:
        return f"{said}, 95 % interval. It reaches down to chance: better than chance is not proven."
    if len(shown) < 2 or shown[1].interval is None:
        return f"{said}, 95 % interval."
    apart = best.interval[0] > shown[1].interval[1]
    return f"{said}, 95 % intervals. " + ("They do not overlap." if apart else "They overlap: better is not proven.")
