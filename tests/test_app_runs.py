"""The Runs view: which runs its table shows, what it compares, and the orders it gives. The server is a stand-in."""

import csv
import io
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import streamlit as st
from checkout import ROOT
from hostile import FORMULAS, TEXTS
from run_views import VERSION, done_view, run_view, service
from streamlit.testing.v1 import AppTest

from app import address, backend, catalogue, charts, comparison, differences, reproduction, traces
from app.charts import MOST_POINTS
from app.settings import settings
from flows.control import Accepted
from flows.params import Params, load_params
from flows.runview import RunView

MAIN = ROOT / "app" / "main.py"
ROWS = {
    "train": [{"step": str(n), "epoch": "1", "elapsed_s": str(n), "loss": str(9 - n), "steps": "4"} for n in (1, 2)],
    "validation": [{"step": "2", "epoch": "1", "elapsed_s": "2", "loss": "5", "balanced_accuracy": "0.5"}],
}


class Server:
    """What stands in for the server."""

    def __init__(self) -> None:
        self.views = [run_view(4, "running"), twin(3, "cd"), done_view(2), run_view(1, "failed")]
        self.asked: dict[str, tuple[Any, Any]] = {}

    def reproduce(self, view: RunView, key: str) -> Accepted:
        if key not in self.asked:
            self.asked[key] = (view.params, view.dataset_version)
            self.views.insert(0, run_view(9, "queued", run_id=key, place=1))
        return Accepted(run_id=key, flow_run_id="f", place=1)


def twin(number: int, digits: str) -> RunView:
    """A finished run with other weights."""
    view = done_view(number)
    return replace(view, result=(view.result or {}) | {"weights_sha256": digits * 32})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server()
    traces.read.cache_clear()
    monkeypatch.setattr(backend, "all_runs", lambda: found.views)
    monkeypatch.setattr(backend, "runs", lambda: found.views)
    monkeypatch.setattr(backend, "services", lambda: [service()])
    monkeypatch.setattr(backend, "curves", lambda run_id, most: ROWS)
    monkeypatch.setattr(backend, "reproduce", found.reproduce)
    return found


def opened(**asked: str) -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=60)
    page.switch_page("views/runs.py")
    for name, value in asked.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def shown(page: AppTest) -> list[str]:
    return [str(name) for name in page.dataframe[0].value["Id"]]


def said(page: AppTest) -> str:
    kinds = (page.markdown, page.caption, page.info, page.error, page.warning)
    return "\n".join(entry.value for kind in kinds for entry in kind) + str(drawn(page, "pivotline_text_table"))


def drawn(page: AppTest, component: str) -> dict[str, Any]:
    """What a component of ours was told to draw."""
    found = [entry.proto for entry in page.get("bidi_component") if entry.proto.component_name.endswith(component)]
    return dict(json.loads(found[0].json)) if found else {}


def test_all_runs_are_shown_and_nothing_is_compared_unasked(server: Server) -> None:
    page = opened()
    assert shown(page) == [view.run_id for view in server.views]
    assert page.info[0].value == "Select up to 6 runs to compare them."


def test_filters_come_from_the_address_and_can_be_changed(server: Server) -> None:
    page = opened(states="failed")
    assert shown(page) == [server.views[3].run_id]
    page.multiselect(key="states").set_value([])
    page.text_input(key="find").set_value(server.views[2].run_id[-6:]).run()
    assert shown(page) == [server.views[2].run_id]


def test_the_runs_of_the_address_are_compared_and_unknown_ones_are_said(server: Server) -> None:
    first, second = server.views[1:3]
    page = opened(compare=f"{first.run_id},{second.run_id},nonsense")
    assert page.subheader[0].value == "2 runs compared"
    assert "1 run of the link cannot be found here: nonsense" in page.warning[0].value
    facts = drawn(page, "pivotline_text_table")
    assert facts["names"] == [first.run_id[-6:], second.run_id[-6:]]
    assert ["balanced accuracy", "81.2 %", "81.2 %"] in facts["rows"]


def test_more_than_six_runs_are_cut_and_that_is_said(server: Server) -> None:
    server.views = [done_view(number) for number in range(9)]
    page = opened(compare=",".join(view.run_id for view in server.views))
    assert page.subheader[0].value == "6 runs compared · 6 at most, 3 more are selected"


def test_a_run_that_the_address_names_twice_is_compared_once(server: Server) -> None:
    run_id = server.views[1].run_id
    page = opened(compare=f"{run_id},{run_id},{run_id}")
    assert page.subheader[0].value == "1 run compared"


def test_what_differs_is_listed_and_what_is_equal_is_counted() -> None:
    one, other = done_view(1), done_view(2)
    other = replace(other, params=other.params | {"train": other.params["train"] | {"seed": 8, "checkpointing": False}})
    apart, equal = differences.differing([one, other])
    assert apart == {"train.checkpointing": ["on", "off"], "train.seed": ["7", "8"]}
    assert equal == len(differences.settings(one)) - 2


@pytest.mark.parametrize(
    ("digits", "states", "expected"),
    [
        ("ab", "done", ":green[equal]"),
        ("cd", "done", ":orange[different]"),
        ("ab", "cached", "proves nothing new"),
    ],
)
def test_twins_are_told_whether_their_weights_are_equal(digits: str, states: str, expected: str) -> None:
    first = done_view(1)
    second = replace(twin(2, digits), stages=tuple((name, states, "") for name, _, _ in first.stages))
    assert reproduction.twins([second, first]) == [(first, second)]
    assert expected in reproduction.verdict(first, second)


def test_runs_with_other_settings_are_no_twins() -> None:
    view = done_view(1)
    other = replace(done_view(2), dataset_version="f" * 32)
    assert not reproduction.twins([view, other])
    seeded = replace(done_view(2), params=view.params | {"train": view.params["train"] | {"seed": 8}})
    assert not reproduction.twins([view, seeded])


def test_an_older_run_that_knows_fewer_settings_has_its_twin_all_the_same() -> None:
    view = done_view(1)
    older = replace(view, params={name: values for name, values in view.params.items() if name != "dqn"})
    assert len(reproduction.twins([older, done_view(2)])) == 1


def test_reproduce_asks_for_the_same_settings_and_version_once_and_compares(server: Server) -> None:
    view = server.views[2]
    page = opened(compare=view.run_id)
    next(button for button in page.button if button.label == "Reproduce").click().run()
    assert list(server.asked.values()) == [(view.params, view.dataset_version)]
    key = next(iter(server.asked))
    assert page.query_params[address.COMPARE] == f"{view.run_id},{key}"
    assert "is queued, so their weights cannot be compared yet" in said(page)


def test_reproduce_waits_for_prefect(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "services", lambda: [service(up=False)])
    page = opened(compare=server.views[2].run_id)
    assert next(button for button in page.button if button.label == "Reproduce").disabled
    assert page.warning[0].value.startswith("Prefect does not answer")


def test_same_again_opens_the_form_with_the_settings_of_the_run(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "datasets", lambda: [])
    view = server.views[2]
    train = view.params["train"] | {"seed": 8, "learning_rate": 0.001, "checkpointing": False, "batch_size": "auto"}
    server.views = [replace(view, params=view.params | {"train": train})]
    page = opened(compare=view.run_id)
    follow(page, "Same again")
    assert not page.exception
    assert page.title[0].value == "Train"
    assert page.number_input(key="train.seed").value == 8
    assert page.number_input(key="train.learning_rate").value == 0.001
    assert page.number_input(key="train.batch_size").value is None
    assert page.toggle(key="train.checkpointing").value is False
    assert page.query_params[address.DATASET] == VERSION  # no input of Runs has its name

    page.number_input(key="train.seed").set_value(9).run()
    assert page.number_input(key="train.seed").value == 9  # what the address says is filled in once
    page.switch_page("views/runs.py")
    page.query_params["compare"] = view.run_id
    page.run()
    follow(page, "Same again")
    assert page.number_input(key="train.seed").value == 8  # and once more for who asks once more


def follow(page: AppTest, label: str) -> None:
    """A click on a link to the form, as a browser carries it out."""
    (link,) = [entry.proto for entry in page.get("page_link") if entry.proto.label == label]
    page.switch_page("views/train.py")
    page.query_params.clear()
    for name, values in parse_qs(link.query_string).items():
        page.query_params[name] = values[0]
    page.run()


def test_settings_that_cannot_be_read_leave_the_comparison_and_take_the_link(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable() -> Params:
        raise ValueError("params.yaml: broken")

    monkeypatch.setattr(backend, "defaults", unreadable)
    page = opened(compare=server.views[2].run_id)
    (link,) = [entry.proto for entry in page.get("page_link")]
    assert link.disabled
    assert "broken" in link.help


@pytest.mark.parametrize(
    ("value", "words"), [("-3", "train\\: epochs is \\-3"), ("!!timestamp x", "the tag \\!\\!timestamp is no plain")]
)
def test_settings_of_a_link_that_cannot_be_used_are_said(
    server: Server, monkeypatch: pytest.MonkeyPatch, value: str, words: str
) -> None:
    monkeypatch.setattr(backend, "datasets", lambda: [])
    page = AppTest.from_file(ROOT / "app" / "views" / "train.py", default_timeout=60)
    page.query_params["train.epochs"] = value
    page.run()
    assert not page.exception
    assert words in said(page)
    assert page.number_input(key="train.epochs").value == load_params(ROOT / "params.yaml").train.epochs


def test_only_settings_that_differ_from_the_form_go_into_a_link() -> None:
    view = done_view(1)
    known = settings(load_params(ROOT / "params.yaml"))
    assert address.settings_of(view, known) == {address.DATASET: VERSION}


def test_curves_are_drawn_over_updates_epochs_and_seconds(server: Server) -> None:
    found = traces.traces(server.views[2])
    assert traces.points(found, "train", "loss") == [(1, 8), (2, 7)]
    assert traces.points(found, "train", "loss", "epoch") == [(0.5, 8), (1, 7)]
    series, unit = comparison.lines(server.views[2:3], [found], "balanced_accuracy", "time", smooth=False)
    assert unit == "seconds"
    assert [entry["data"] for entry in series] == [[[2, 50]], []]


def test_curves_are_read_once_for_all_viewers_until_the_run_goes_on(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    monkeypatch.setattr(backend, "curves", lambda run_id, most: reads.append(run_id) or ROWS)
    view = server.views[0]
    for state in ("running", "running", "done"):
        traces.traces(replace(view, state=state))
    assert len(reads) == 2


def test_a_long_curve_is_thinned_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIVOTLINE_STATE", str(tmp_path))
    view = done_view(1)
    journal = tmp_path / "runs" / view.run_id / "journal"
    journal.mkdir(parents=True)
    rows = [f"{n},1,{n / 10},1.0" for n in range(1, 10_002)]
    (journal / "train.csv").write_text("\n".join(["step,epoch,elapsed_s,loss", *rows, "10002,1,0"]))
    traces.read.cache_clear()
    found = traces.traces(view)
    assert MOST_POINTS / 2 < len(found["train"]) <= MOST_POINTS + 1
    assert (found["train"][0]["step"], found["train"][-1]["step"]) == (1, 10_001)


def test_the_legend_names_the_curves_in_the_order_of_their_ends() -> None:
    series = [
        charts.line("low", [(1, 0.9), (2, 0.1)], **comparison.THICK),
        charts.line("short", [(1, 0.9)], **comparison.THICK),
        charts.line("empty", [], **comparison.THICK),
        charts.line("middle", [(1, 0.1), (2, 0.5)], **comparison.THICK),
        charts.line("low", [(1, 5.0), (2, 4.0)], **comparison.THIN),
    ]
    assert comparison.chart(series, "loss", "update", log=False)["legend"]["data"] == ["short", "middle", "low"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_hostile_name_is_text_in_every_place(server: Server, text: str) -> None:
    server.views = [replace(done_view(1, dataset_name=text), message=text), done_view(2)]
    page = opened(compare=",".join(view.run_id for view in server.views))
    assert catalogue.dataset(server.views[0]) == f"{VERSION[:7]} · {text}"
    assert page.dataframe[0].value["Dataset"][0] == f"{VERSION[:7]} · {text}"
    assert text not in said(page)


def test_runs_that_a_filter_hides_stay_compared(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def tick_the_first(views: Any, selected: Any, on_select: Any) -> None:
        st.session_state["table"] = {"selection": {"rows": [0]}}
        on_select("table", [view.run_id for view in views])

    monkeypatch.setattr(catalogue, "table", tick_the_first)
    hidden, ticked = server.views[2].run_id, server.views[3].run_id
    page = opened(compare=hidden, states="failed")
    assert page.query_params[address.COMPARE] == f"{hidden},{ticked}"


def test_measured_and_predicted_peaks_are_no_mix() -> None:
    columns = catalogue.columns([done_view(1)])
    assert columns["Peak, MiB"] == [pytest.approx(112_501_168 / 2**20)]
    assert columns["Predicted, MiB"] == [pytest.approx(112_000_000 / 2**20)]


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_table_as_a_file_holds_no_formula(formula: str) -> None:
    view = done_view(1)
    view = replace(view, params=view.params | {"model": view.params["model"] | {"preset": formula}})
    header, row = csv.reader(io.StringIO(catalogue.export([view]), newline=""))
    told = dict(zip(header, row, strict=True))
    assert told["Preset"].startswith("'")
    assert (told["Id"], told["State"], float(told["Balanced accuracy, %"])) == (view.run_id, "done", 81.25)


@pytest.mark.parametrize(("curve", "log"), [("loss", True), ("balanced accuracy", False)])
def test_only_a_loss_is_drawn_on_a_log_scale(
    server: Server, monkeypatch: pytest.MonkeyPatch, curve: str, log: bool
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(st, "echarts_chart", lambda option, **_: drawn.append(option))
    opened(compare=server.views[2].run_id, log="true", curve=curve)
    assert [option["yAxis"]["type"] for option in drawn] == ["log" if log else "value"]


def test_a_short_run_took_its_seconds_and_not_no_minutes(server: Server) -> None:
    server.views = [replace(done_view(1), ended_at="2026-11-30T07:10:02.800+00:00")]
    (took,) = opened().dataframe[0].value["Took, s"]
    assert took == timedelta(seconds=3)
    assert catalogue.rounded(3550) == timedelta(minutes=59)
    assert catalogue.columns(server.views)["Took, s"] == [2.8]  # in a file it is a number


def test_a_filter_is_no_choice_of_another_view(server: Server) -> None:
    page = opened(presets="lite")
    page.switch_page("views/size.py")
    page.query_params.clear()
    page.run()
    assert not page.exception
    assert "preset" not in page.query_params
    assert page.get("button_group")[1].value == "base"  # type: ignore[attr-defined]
