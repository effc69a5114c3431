"""Predict: what does a version say at a moment, and how far can it be trusted?"""

from collections.abc import Sequence

import streamlit as st

from app import address, asked_time, asking, dataset_reader, foresight, health, registry_reader, trust, version_words
from app.candles import DOWN, HEIGHT, SHOWN, UP, chart, frame, picked
from app.charts import MUTED, hbar
from app.format import plain, short, spoken
from app.trade_marks import ends
from dataset.annotations import Annotation
from flows import control
from flows.control import Judgement, Prediction, VersionView

COLOURS = {"buy": UP, "hold": MUTED, "sell": DOWN}
LEAST_AHEAD, MOST_AHEAD = 25, 75  # candles after the decision that are in sight


def page() -> None:
    st.title("Predict", anchor=False)
    health.watch()
    with st.spinner("Asking the registry"):
        found = registry_reader.registry()
    if found.problem:
        st.warning(f"No version can be asked now: {spoken(found.problem)}.")
        return
    if not found.versions:
        st.markdown("No version yet to ask. A training registers its model; then it answers here.")
        if st.button("Train a model"):
            st.switch_page("views/train.py")
        return
    filters, answer, test = st.container(horizontal=True, vertical_alignment="top"), st.container(), st.container()
    with filters:
        version = version_input(found.versions)
    judged = asking.judgement(version)
    with test:
        if isinstance(judged, str):
            st.subheader("Test split", anchor=False)
            st.caption(f"{plain(judged)}.")
        else:
            trust.show(judged, asked_time.open_time)
    try:
        with filters:
            source, trades, time = where(version, None if isinstance(judged, str) else judged)
        with answer:
            draw(version, source, trades, time, None if isinstance(judged, str) else judged)
    except asking.REFUSALS as error:
        answer.error(spoken(asking.sentence(error)))


def version_input(known: Sequence[VersionView]) -> VersionView:
    """The version of the address, else the champion, else the newest."""
    numbers = [entry.version for entry in known]
    wanted = st.query_params.get(address.VERSION, "")
    champion = next((place for place, entry in enumerate(known) if registry_reader.CHAMPION in entry.aliases), 0)
    known_here = wanted.isdecimal() and int(wanted) in numbers
    place = numbers.index(int(wanted)) if known_here else champion
    if wanted and not known_here:
        st.warning(f"The link's version {plain(wanted)} is not registered here; another one is shown.")

    def name(place: int) -> str:
        entry = known[place]
        return " · ".join([version_words.name(entry), version_words.model(entry), short(entry.dataset_version)])

    chosen = int(st.selectbox("Model", range(len(known)), index=place, format_func=name, width=300))
    if known_here or chosen != champion:
        st.query_params[address.VERSION] = str(numbers[chosen])
    return known[chosen]


def where(version: VersionView, judged: Judgement | None) -> tuple[str, list[Annotation], int]:
    """Which dataset the candles are of, its trades, and the moment that is asked about."""
    source = dataset_input(version)
    trades = dataset_reader.trades(source)
    moments = {f"{trade.annotation_id} {word}": time for trade in trades for word, time in asking.moments(trade)}
    start = judged.rows[0].time if judged and judged.rows else max(moments.values(), default=0)
    return source, trades, asked_time.choose(moments, start)


def dataset_input(version: VersionView) -> str:
    """The version's own dataset, or the one in data/ where that is another."""
    current = next((entry.version for entry in dataset_reader.library() if entry.current), version.dataset_version)
    if current == version.dataset_version:
        return current
    names = {version.dataset_version: "its own", current: "in data/"}
    return str(
        st.selectbox(
            "Candles of",
            list(names),
            format_func=lambda name: f"{short(name)} · {names[name]}",
            width=180,
            key="source",
        )
    )


def draw(version: VersionView, source: str, trades: list[Annotation], time: int, judged: Judgement | None) -> None:
    """The answer on the candles, and in words beside them."""
    info = dataset_reader.info(source)
    control.hold(versions=[version], datasets=[source])
    said = asking.predict(version.version, time, info.primary, source)
    left, right = st.columns([7, 3], gap="medium")
    with left:
        timeframe = str(
            st.segmented_control(
                "Timeframe",
                info.timeframes,
                default=info.timeframes[0],
                required=True,
                key="timeframe",
                bind="query-params",
                label_visibility="collapsed",
            )
        )
        candles(said, source, trades, timeframe, judged)
    with right:
        words(version, said, trades)


def candles(said: Prediction, source: str, trades: list[Annotation], timeframe: str, judged: Judgement | None) -> None:
    shown = dataset_reader.window(source, said.symbol, timeframe, said.time)
    bars = [(pivot.time - said.seen_until) // shown.step_s for pivot in said.pivots]
    ahead = min(max([LEAST_AHEAD, *(number + 5 for number in bars)]), MOST_AHEAD)
    missing = shown.visible(said.time) + ahead + 1 - len(shown.open_time)
    shown = foresight.extended(shown, missing) if missing > 0 else shown
    table = foresight.with_expected(frame(shown), shown, said)
    rows = judged.rows if judged else ()
    lines, areas = foresight.unseen(shown, said, rows)
    names = table["time"].tolist()
    own = [trade for trade in trades if trade.symbol == said.symbol and shown.holds(trade.entry_time)]
    points = [point for trade in own for point in ends(shown, names, trade, False)]
    points += foresight.mistakes(shown, rows, said)
    key = f"foresight {said.version} {said.time} {timeframe}"

    def clicked() -> None:
        row = picked(st.session_state[key])
        if row is not None:
            asked_time.open_time(int(shown.open_time[row]) + shown.step_s)

    st.echarts_chart(
        chart(
            shown,
            table,
            points,
            lines,
            areas,
            [foresight.candle(), *foresight.path(shown, said)],
            in_sight=SHOWN,
            ahead=ahead / SHOWN,
            pick=True,
        ),
        height=HEIGHT,
        key=key,
        on_select=clicked,
        alt=f"{timeframe} candles with the expected next candle and pivots after the moment of the decision",
    )
    st.caption("Click a candle to ask at its close. Rings: wrong answers of the test split. Pale marks: trades.")


def words(version: VersionView, said: Prediction, trades: list[Annotation]) -> None:
    st.markdown(f"**Version {said.version} says: {said.action}**")
    order = sorted(said.probabilities, key=lambda name: -said.probabilities[name])
    st.echarts_chart(
        hbar(
            [(name, said.probabilities[name], f"{100 * said.probabilities[name]:.0f} %") for name in order],
            [COLOURS[name] for name in order],
        ),
        height=96,
        key="shares",
        alt="Probabilities of buy, hold and sell",
    )
    st.table(asking.facts(said, trades), border="horizontal")
    trained = f"Learnt from {'simulated ' if version.simulated else ''}dataset {short(version.dataset_version)}"
    st.caption(f"{trained}; {version_words.scored(version)} balanced accuracy on its test split. It is not advice.")


page()
