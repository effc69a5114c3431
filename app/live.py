"""The shown run as the server knows it: stages, curves, log and result, refreshed while anything is queued or runs."""

import streamlit as st

from app import address, backend, charts, dead, newest, orders, outcome, traces
from app.format import duration, plain, seconds, several, spoken, took, when
from app.steps import step_line
from app.traces import Traces
from flows.runview import RunView

EVERY_S = 2
ACTIVE = ("queued", "running")
COLOUR = {"queued": "gray", "running": "blue", "done": "green", "failed": "red", "crashed": "orange"}
HEADING = {"queued": "In the queue", "running": "Running now", "done": "Result"}
CHANCE = 1 / 3
LOG_LINES = 8
ASK_AGAIN_S = 45.0  # longer than a cancel takes, one whose run is in another container too
AGAIN = "The cancel has not come to its end. A second one changes nothing if the first still goes on."


def follow(closed: bool) -> None:
    """Draws the run of the address; where it names none, the most current one goes into it.

    So a reload and another viewer see the same. `closed`: Prefect does not answer.
    """
    views = backend.runs()
    current = most_current(views).run_id if views else None
    moving = any(map(moves, views))
    st.fragment(tick, run_every=EVERY_S if moving else None)(closed, moving, current)
    if current and "run" not in st.query_params:
        address.complete("run", current)


def tick(closed: bool, moving: bool, current: str | None) -> None:
    """`current`: the run that is shown where the address names none."""
    views = backend.runs()
    if moving and not any(map(moves, views)):
        st.rerun()  # the last one has ended: draw it once more, without a timer
    wanted = st.query_params.get("run", current)
    view = known(wanted) if wanted else None
    if view:
        backend.hold([view])
        show(view, views, closed)
    newest.queue(views)
    newest.table(views, view.run_id if view else None)


def moves(view: RunView) -> bool:
    """Whether there will be more to see of a run without anybody asking for it."""
    return view.state in ACTIVE or not dead.is_proved(view)


def most_current(views: list[RunView]) -> RunView:
    """The run that runs, else the newest."""
    return next((view for view in views if view.state == "running"), views[0])


def known(wanted: str) -> RunView | None:
    try:
        return backend.run(wanted)
    except ValueError as error:
        st.warning(spoken(error))
        return None


def show(view: RunView, views: list[RunView], closed: bool) -> None:
    st.subheader(HEADING.get(view.state, "Run"), anchor=False)
    head(view, closed)
    step_line(
        [(name.capitalize(), state, step_detail(view, name, state, detail)) for name, state, detail in view.stages],
        key="steps",
    )
    notice(view, views)
    if newer := backend.newer_data(view.dataset_version):
        st.caption(spoken(newer))
    dead.proof(view)
    if view.result:
        outcome.show(view)
    rows = traces.traces(view)
    if rows["train"]:
        curves(rows, view.state in ACTIVE)
    log(view)


def head(view: RunView, closed: bool) -> None:
    left, right = st.columns([4, 2], vertical_alignment="center")
    facts = [
        view.run_id,
        *([f"attempt {view.attempt}"] if view.attempt > 1 else []),
        f"asked for {when(view.created_at)}",
    ]
    if view.started_at:
        facts[-1:] = [f"started {when(view.started_at)}", took(view.started_at, view.ended_at)]
    badge = f":{COLOUR.get(view.state, 'gray')}-badge[{plain(view.state)}]"
    left.markdown(f"**{plain(view.name)}** {badge} :gray[{plain(' · '.join(facts))}]")
    with right.container(horizontal=True, horizontal_alignment="right"):
        if view.state in ACTIVE:
            stop(view)
        else:
            dead.revive(view, closed)


def stop(view: RunView) -> None:
    """Asks for a run's end, which works with every service down; once more where whoever carried it out has died."""
    ending = view.message == "being cancelled"
    if ending and overdue(view):
        st.button("Ask again", key="again", help=AGAIN, on_click=orders.cancel, args=(view.run_id,))
    elif st.button("Cancelling…" if ending else "Cancel run", key="cancel", disabled=ending):
        orders.may_cancel(view.run_id)
        st.rerun()


def overdue(view: RunView) -> bool:
    return (seconds(view.cancel_asked_at, None) or 0.0) > ASK_AGAIN_S


def step_detail(view: RunView, name: str, state: str, detail: str) -> str:
    """Where the training is; what failed is said in full below the line."""
    if state in ("failed", "crashed"):
        return ""
    if name == "train" and state == "running" and view.progress:
        left = f", about {duration(view.progress.eta_s)} left" if view.progress.eta_s is not None else ""
        return f"epoch {view.progress.epoch} of {view.progress.epochs}{left}"
    return detail


def notice(view: RunView, views: list[RunView]) -> None:
    """The run's own sentence: its place in the queue, or what ended it."""
    if view.state == "queued":
        ahead = (view.place or 1) - 1 + sum(other.state == "running" for other in views)
        start = f"It starts after {several(ahead, 'other run')}" if ahead else "It starts within seconds"
        told = f": {spoken(view.reason)}" if view.reason and not ahead else f". {start}"
        st.info(f"{plain(view.name)} is queued in place {view.place}{told}; this page may be closed.")
    elif view.state in ("failed", "crashed"):
        failed = [detail for _, state, detail in view.stages if state in ("failed", "crashed") and detail]
        st.error(spoken(view.message or next(iter(failed), f"The run {view.state} without a word.")))
    elif view.message:
        st.caption(spoken(whole(view.state, view.message)))


def whole(state: str, message: str) -> str:
    """The message as a sentence of its own: `as it was asked for` is the end of one."""
    ended = state == "cancelled" and not message.startswith(state)
    said = f"{state} {message}" if ended else message
    return f"{said[:1].upper()}{said[1:]}"


def curves(rows: Traces, growing: bool) -> None:
    """Loss and score over updates: as far as they are to go while they grow, as far as they went afterwards."""
    last = rows["train"][-1].get("steps") if growing else None
    train, validation = traces.points(rows, "train", "loss"), traces.points(rows, "validation", "loss")
    score = [(x, 100 * y) for x, y in traces.points(rows, "validation", "balanced_accuracy")]
    marked = {"showSymbol": True, "symbolSize": 6}
    loss = [
        charts.line("train", train, 1, lineStyle={"width": 1, "opacity": 0.3}, endLabel={"show": False}),
        charts.line("train", traces.smooth(rows, "loss"), 1.5),
        charts.line("validation", validation, 2, **marked),
    ]
    chance = charts.rule(100 * CHANCE, "chance", "yAxis")
    left, right = st.columns(2, gap="medium")
    left.echarts_chart(
        charts.curves("loss", loss, last), height=240, key="loss", alt="Training and validation loss over updates"
    )
    right.echarts_chart(
        charts.curves(
            "balanced accuracy, %",
            [charts.line("validation", score, 2, **marked, markLine=chance)],
            last,
            min=0,
            max=100,
        ),
        height=240,
        key="score",
        alt="Balanced accuracy on the validation split after each epoch, in percent",
    )


def log(view: RunView) -> None:
    lines = backend.log_tail(view.run_id, LOG_LINES)
    if lines:
        st.code("\n".join(lines), language=None, wrap_lines=True)
