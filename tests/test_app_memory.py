"""The Memory view: plans that are worked out once in the background, and what runs measured."""

import re
import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from checkout import ROOT
from hostile import TEXTS
from run_views import Planner, done_view, plan_of, service
from streamlit.testing.v1 import AppTest

from app import backend, peaks, plans, survey, timeline
from app.plans import GB, Ask
from app.survey import Choice
from flows.runview import RunView
from model.kinds import preset
from model.verdict import needed

CHOICE = Choice(kind="transformer", preset="base", seq_len=200, precision="fp32", checkpointing=True, batch=5)


@pytest.fixture
def planner(monkeypatch: pytest.MonkeyPatch) -> Planner:
    found = Planner()
    monkeypatch.setattr(survey, "PLANNER", found)
    monkeypatch.setattr(backend, "services", lambda: [service()])
    monkeypatch.setattr(backend, "memory", lambda run_id, most: ([], None))
    return found


def opened(monkeypatch: pytest.MonkeyPatch, views: list[RunView], **asked: str) -> AppTest:
    monkeypatch.setattr(backend, "all_runs", lambda: views)
    page = AppTest.from_file(ROOT / "app" / "views" / "memory.py", default_timeout=60)
    for name, value in asked.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def measured_view() -> RunView:
    """A run of the params that ship."""
    found = done_view(1)
    return replace(found, params=found.params | {"train": found.params["train"] | {"batch_size": 5}})


def test_the_prediction_stands_beside_what_a_run_of_the_same_kind_measured(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = opened(monkeypatch, [measured_view()])
    head = page.subheader[0].value
    assert head == "Peak 100 MiB predicted at batch 5 of 200 candles, 107 MiB measured: error 0.4 %"
    page = opened(monkeypatch, [measured_view()], batch="6")
    assert page.subheader[0].value == "Peak 100 MiB predicted at batch 6 of 200 candles; no run has measured it yet"


def test_samples_of_the_newest_run_stay_on_the_device(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(monkeypatch, [measured_view()])
    assert {ask.samples for ask in planner.asked} == {(180, 35)}


def test_without_runs_and_before_the_plans_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Planner):
        def look(self, ask: Ask) -> Any:
            return None

    monkeypatch.setattr(survey, "PLANNER", Slow())
    page = opened(monkeypatch, [])
    assert page.subheader[0].value == "Working out the peak at batch 5 of 200 candles…"
    assert "No run has measured its peak yet" in "".join(entry.value for entry in page.caption)


def test_every_curve_passes_through_the_training_that_is_looked_at() -> None:
    wanted = survey.asks(CHOICE, None)
    both = {True, False}
    assert {(on, 5) for on in both} <= set(wanted["batch"])
    assert {(on, 200) for on in both} <= set(wanted["length"])
    assert wanted["batch"][(True, 5)] == wanted["length"][(True, 200)] == wanted["peak"]["peak"]
    assert len({ask for group in wanted.values() for ask in group.values()}) <= 12


def test_only_a_run_of_the_same_settings_measured_this_training() -> None:
    view = measured_view()
    assert CHOICE.matches(view)
    assert not replace(CHOICE, checkpointing=False).matches(view)


@pytest.mark.parametrize(("top", "cards"), [(0.5, [4]), (4.5, [4, 6]), (9, [4, 6, 8, 12]), (99, [4, 6, 8, 12, 24])])
def test_cards_are_drawn_up_to_the_first_with_room(top: float, cards: list[int]) -> None:
    assert [entry["yAxis"] for entry in peaks.cards(top)["data"]] == cards
    assert peaks.scale(top)[0] > top


def test_a_line_between_two_plans_is_straight_in_the_setting() -> None:
    drawn = peaks.straight([(1, 1.0), (129, 129.0)])
    assert all(x == pytest.approx(y) for x, y in drawn)
    assert len(drawn) > 10


def test_parts_stack_up_to_the_peak_of_an_update() -> None:
    option = peaks.by_part({"fp32, on": plan_of(mib=64)})
    stacked = [entry["data"][0][0] for entry in option["series"] if entry.get("stack")]
    assert sum(stacked) == 64
    assert option["series"][-2]["data"] == [[64.0, "fp32, on", "64.0 MiB"]]


def test_a_plan_is_worked_out_once_and_a_busy_worker_takes_no_second_order(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = [], threading.Event()

    def slow(ask: Ask) -> Any:
        begun.append(ask)
        go.wait(10)
        return plan_of(ask.batch)

    monkeypatch.setattr(plans, "work_out", slow)
    planner = plans.Planner()
    first, second = (CHOICE.ask(None, batch=batch) for batch in (5, 6))
    assert planner.look(first) is None
    assert planner.look(second) is None
    go.set()
    planner.known[first].result(10)
    assert planner.look(first) == plan_of(5)
    assert planner.look(second) is None
    planner.known[second].result(10)
    assert begun == [first, second]


def test_a_run_that_cannot_be_planned_says_why() -> None:
    planner = plans.Planner()
    ask = Ask(config=preset("dqn", "base"), batch=5, seq_len=200, precision="fp32", checkpointing=True)
    with suppress(ValueError):  # it may be known at once
        planner.look(ask)
    planner.known[ask].exception(20)
    with pytest.raises(ValueError, match="depends on its episodes"):
        planner.look(ask)


def test_the_planner_and_the_real_plan_agree() -> None:
    planner = plans.Planner()
    ask = Ask(config=preset("cnn", "lite"), batch=2, seq_len=50, precision="fp32", checkpointing=True)
    planner.look(ask)
    planner.known[ask].result(60)
    assert planner.look(ask) == plans.work_out(ask)
    assert 0 < planner.look(ask).predicted_bytes < GB  # type: ignore[union-attr]


HELD = [
    {"step": str(step), "epoch": "1", "elapsed_s": "1", "held_bytes": str(held << 20), "peak_bytes": str(peak << 20)}
    for step, held, peak in ((1, 80, 90), (2, 100, 130), (36, 60, 130))
]


def said(page: AppTest) -> str:
    return "".join(entry.value for entry in page.caption) + str([table.value.to_dict() for table in page.table])


def test_what_a_run_held_is_drawn_beside_what_was_predicted(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(backend, "memory", lambda run_id, most: (asked.append(run_id), (HELD, 112_000_000))[1])
    older, newer = measured_view(), replace(done_view(2), result=None, state="running")
    page = opened(monkeypatch, [newer, older])
    assert asked == [newer.run_id]
    assert "Tensors, predicted" in said(page)
    assert "107 MiB" in said(page)
    assert "Tensors, measured" not in said(page)
    page = opened(monkeypatch, [newer, older], run=older.run_id)
    assert asked[-1] == older.run_id
    assert {"Tensors, measured", "Held at most", "Error"} <= set(page.table[0].value.index)
    assert "130 MiB" in said(page)
    page.selectbox[0].set_value(newer).run()
    assert page.query_params["run"] == newer.run_id
    assert asked[-1] == newer.run_id


def test_the_timeline_shows_the_prediction_and_has_room_for_it() -> None:
    option = timeline.chart(HELD, 200 << 20)
    held, most = option["series"]
    assert (held["data"], most["data"]) == ([[1, 80], [2, 100], [36, 60]], [[1, 90], [2, 130], [36, 130]])
    assert held["markLine"]["data"][0]["yAxis"] == 200
    assert option["yAxis"]["max"] > 200
    assert "markLine" not in timeline.chart(HELD, None)["series"][0]


@pytest.mark.parametrize(("top", "end", "step"), [(308, 400, 100), (210, 250, 50), (0, 1, 0.2), (1000, 1000, 200)])
def test_the_axis_of_the_timeline_ends_on_one_of_its_steps(top: float, end: float, step: float) -> None:
    assert timeline.scale(top) == pytest.approx((end, step))


def test_the_end_of_the_timeline_is_a_multiple_of_its_steps() -> None:
    axis = timeline.chart(HELD, 293 << 20)["yAxis"]
    assert axis["max"] % axis["interval"] == 0


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (replace(done_view(1), stages=(("train", "cached", ""),)), "took its training from the cache"),
        (replace(done_view(1), state="running"), "has not begun"),
        (done_view(1), "kept no memory"),
    ],
)
def test_a_run_without_a_timeline_says_why(
    planner: Planner, monkeypatch: pytest.MonkeyPatch, view: RunView, words: str
) -> None:
    assert words in said(opened(monkeypatch, [view]))


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_is_text(planner: Planner, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    view = replace(measured_view(), state=text, dataset_version=text)
    page = opened(monkeypatch, [view], run=text, kind=text, batch=text)
    words = said(page) + "".join(entry.value for entry in (*page.markdown, *page.subheader))
    assert not re.search(r"(?<!\\)(<img|<script|\*loud|\[a\]|\]\(|:red\[x|\$x|`code)", words)


def test_parts_are_told_of_every_number_format_with_and_without_checkpointing() -> None:
    assert set(survey.asks(CHOICE, None)["part"]) == {
        (digits, on) for digits in ("fp32", "bf16") for on in (True, False)
    }


def test_curves_stand_against_cards_with_what_cuda_itself_takes(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    real = peaks.over
    monkeypatch.setattr(peaks, "over", lambda lines, axis, **x: (drawn.append(lines), real(lines, axis, **x))[1])
    opened(monkeypatch, [])
    assert {y for lines in drawn for points in lines.values() for _, y in points} == {needed(plan_of()) / GB}


def test_curves_that_end_beside_each_other_are_named_in_a_legend() -> None:
    for off, near in ((0.7, True), (4.5, False)):
        option = peaks.over({"on": [(1, 0.5), (128, 0.6)], "off": [(1, 0.5), (128, off)]}, "batch size")
        assert option["legend"]["show"] is near
        assert [entry["endLabel"]["show"] for entry in option["series"][::2]] == [not near] * 2


def test_the_largest_error_of_all_runs_is_told(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    def off(number: int, share: float) -> RunView:
        view = done_view(number)
        memory = {"predicted_bytes": int(1e8 * (1 + share)), "measured_bytes": int(1e8), "error": share}
        result = view.result or {}
        return replace(view, result=result | {"train": result["train"] | {"memory": memory}})

    page = opened(monkeypatch, [off(1, 0.01), off(2, -0.07), off(3, 0.02)])
    assert "The largest error is 7.0 %." in said(page)
