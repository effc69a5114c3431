"""The Train view: its form, its orders, what it says of services and runs. The server is a stand-in."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from checkout import ROOT
from hostile import TEXTS
from run_views import VERSION, Planner, dataset, done_view, run_view, service
from streamlit.testing.v1 import AppTest

from app import address, backend, dead, live, newest, orders, outcome, prediction, traces
from app.format import plain
from flows import control, summary
from flows.control import Accepted
from flows.errors import ServiceDownError
from flows.runview import RunView

VIEW = ROOT / "app" / "views" / "train.py"
HOSTILE = "<img src=x onerror=alert(1)> **loud** [a](javascript:alert(1)) :red[x]"


class Server:
    """What stands in for the server: it remembers what it was asked, once for each key as the real one does."""

    def __init__(self) -> None:
        self.views: list[RunView] = []
        self.down: set[str] = set()
        self.asked: dict[str, tuple[dict[str, Any], str | None]] = {}
        self.refusal: Exception | None = None
        self.planner = Planner()

    def start(self, changes: dict[str, Any], version: str | None, key: str) -> Accepted:
        if self.refusal:
            raise self.refusal
        self.asked[key] = (changes, version)
        self.views.insert(0, run_view(len(self.asked), "queued", run_id=key, place=1))
        return Accepted(run_id=key, flow_run_id="f", place=1)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server()
    plan: dict[str, Callable[..., Any]] = {
        "services": lambda: [service(name, up=name not in found.down) for name in ("Prefect", "MLflow")],
        "runs": lambda: found.views,
        "run": lambda run_id: next(view for view in found.views if view.run_id == run_id),
        "datasets": lambda: [dataset(samples=255)],
        "count_samples": lambda version, preprocess: (180, 35),
        "start": found.start,
        "log_tail": lambda run_id, lines: ["epoch 1 of 2"],
        "curves": lambda run_id, most: {"train": [], "validation": []},
    }
    for name, function in plan.items():
        monkeypatch.setattr(backend, name, function)
    monkeypatch.setattr(prediction, "PLANNER", found.planner)
    traces.read.cache_clear()
    return found


def opened(run: str = "") -> AppTest:
    page = AppTest.from_file(VIEW, default_timeout=60)
    if run:
        page.query_params["run"] = run
    return page.run()


def said(page: AppTest) -> str:
    """All Markdown of the page."""
    kinds = (page.markdown, page.caption, page.info, page.error, page.warning)
    return "\n".join(entry.value for kind in kinds for entry in kind)


def test_the_form_starts_a_run_with_what_was_changed_and_no_more(server: Server) -> None:
    page = opened()
    assert not page.exception
    page.number_input(key="train.epochs").set_value(2)
    page.number_input(key="preprocess.seq_len").set_value(40)
    page.toggle(key="train.checkpointing").set_value(False)
    page.button(key="start").click().run()
    expected = {"train": {"epochs": 2, "checkpointing": False}, "preprocess": {"seq_len": 40}}
    assert list(server.asked.values()) == [(expected, VERSION)]
    assert page.query_params["run"] == next(iter(server.asked))
    assert "is queued in place 1" in page.info[0].value


def test_the_fold_counts_what_is_changed_in_it(server: Server) -> None:
    page = opened()
    assert page.expander[0].label == "Advanced settings: 35 at their defaults"
    page.number_input(key="train.epochs").set_value(2)
    page.number_input(key="train.learning_rate").set_value(0.001).run()
    assert page.expander[0].label == "Advanced settings: 1 of 35 changed"


def test_settings_outlive_a_visit_to_another_view(server: Server) -> None:
    page = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60).run()
    page.switch_page("views/train.py").run()
    page.number_input(key="train.learning_rate").set_value(0.001).run()
    page.switch_page("views/size.py").run()
    page.switch_page("views/train.py").run()
    assert not page.exception
    assert page.expander[0].label == "Advanced settings: 1 of 35 changed"
    assert page.number_input(key="train.learning_rate").value == 0.001


def test_an_emptied_batch_size_is_chosen_from_the_samples(server: Server) -> None:
    page = opened()
    page.number_input(key="train.batch_size").set_value(None)
    page.button(key="start").click().run()
    assert [changes for changes, _ in server.asked.values()] == [{"train": {"batch_size": "auto"}}]


def test_a_double_click_starts_one_run(server: Server) -> None:
    page = opened()
    button = page.button(key="start")
    button.click()
    button.click().run()
    assert len(server.asked) == 1


def test_a_late_press_of_a_button_whose_run_is_accepted_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders.st, "session_state", {orders.KEY: "the next"})
    orders.press("the accepted")
    assert not orders.sending()
    orders.press("the next")
    assert orders.sending()


def test_settings_that_do_not_fit_together_are_said_and_not_started(server: Server) -> None:
    page = opened()
    page.number_input(key="preprocess.train_fraction").set_value(0.9)
    page.number_input(key="preprocess.validation_fraction").set_value(0.5).run()
    assert "are 1\\.4 together, expected below 1" in page.error[0].value
    assert page.button(key="start").disabled


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("train.epochs", -5, "epochs is \\-5"),
        ("train.epochs", 999_999_999, "epochs is 999999999"),
        ("train.batch_size", 0, "batch\\_size is 0"),
        ("train.learning_rate", -1.0, "learning\\_rate is \\-1\\.0"),
    ],
)
def test_a_number_out_of_its_bounds_is_said_and_not_started(server: Server, key: str, value: float, words: str) -> None:
    page = opened()
    page.number_input(key=key).set_value(value).run()
    assert words in page.error[0].value
    assert page.button(key="start").disabled


@pytest.mark.parametrize(
    "refusal",
    [
        ValueError("no *such* dataset"),
        ServiceDownError("no worker has served it yet"),
        OSError(28, "No space left on device", "state"),
    ],
)
def test_a_refused_run_is_said_and_can_be_tried_again(server: Server, refusal: Exception) -> None:
    server.refusal = refusal
    page = opened()
    page.button(key="start").click().run()
    assert len(page.error) == 1
    assert not page.button(key="start").disabled
    server.refusal = None
    page.button(key="start").click().run()
    assert len(server.asked) == 1
    assert not page.error


def test_a_refused_run_and_a_changed_one_have_different_keys(server: Server) -> None:
    server.refusal = ServiceDownError("Prefect does not answer")
    page = opened()
    page.button(key="start").click().run()
    refused = page.session_state[orders.KEY]
    page.number_input(key="train.seed").set_value(8).run()
    assert page.session_state[orders.KEY] != refused
    assert not page.error


@pytest.mark.parametrize(("name", "stops"), [("Prefect", True), ("MLflow", False)])
def test_a_service_that_is_down_is_named_with_its_address_and_the_remedy(
    server: Server, name: str, stops: bool
) -> None:
    server.down = {name}
    server.views = [run_view(1, "running")]
    page = opened()
    assert not page.exception
    assert page.warning[0].value.startswith(f"{name} does not answer at 127\\.0\\.0\\.1\\:4200")
    assert "`make up`" in page.warning[0].value
    assert page.button(key="start").disabled is stops
    assert not page.button(key="cancel").disabled


def test_a_run_in_the_address_is_shown_and_an_unknown_one_is_said(server: Server) -> None:
    server.views = [run_view(2, "running"), done_view(1)]
    page = opened(server.views[1].run_id)
    assert "81.2 % balanced accuracy on 40 test samples" in said(page)
    assert "the best simple rule reaches 45.0 %" in said(page)


def test_an_unknown_run_in_the_address_is_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(run_id: str) -> RunView:
        raise ValueError(f"run {run_id}: not known here")

    monkeypatch.setattr(backend, "run", unknown)
    page = opened(HOSTILE)
    assert not page.exception
    assert "not known here" in page.warning[0].value


def test_a_dataset_version_of_a_link_that_is_not_there_is_said(server: Server) -> None:
    page = AppTest.from_file(VIEW, default_timeout=60)
    page.query_params[address.DATASET] = "f" * 32 + ".dir"
    page.run()
    assert not page.exception
    assert [word.value for word in page.warning] == [
        "Dataset version fffffff is not known here any more; another is chosen."
    ]
    assert page.selectbox(key=address.CHOSEN_DATASET).value == VERSION


@pytest.mark.parametrize("state", ["failed", "crashed"])
@pytest.mark.parametrize(
    ("message", "detail", "words"),
    [
        ("out of *memory* at update 7", "killed", "out of \\*memory\\* at update 7"),
        ("", "killed by signal 9", "killed by signal 9"),
        ("", "", "without a word\\."),
    ],
)
def test_what_ended_a_run_stands_below_its_steps(
    server: Server, state: str, message: str, detail: str, words: str
) -> None:
    stages = (("preprocess", "done", "3.2 s"), ("train", state, detail))
    server.views = [run_view(1, state, message=message, stages=stages)]
    page = opened()
    assert not page.exception
    (error,) = page.error
    assert error.value.endswith(words)


def test_the_running_run_can_be_cancelled_after_a_question(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(backend, "cancel", lambda run_id: ended.append(run_id) or "asked")
    server.views = [run_view(1, "running")]
    page = opened()
    page.button(key="cancel").click().run()
    assert not ended
    page.run()  # a service that came back draws the whole view anew: the question stays
    page.button(key="confirmed").click().run()
    assert ended == [server.views[0].run_id]
    assert not [button for button in page.run().button if button.key == "confirmed"]


def test_a_cancel_that_comes_to_no_end_can_be_asked_for_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(backend, "cancel", lambda run_id: ended.append(run_id) or "asked")
    now = datetime.now(UTC)
    server.views = [run_view(1, "running", message="being cancelled", cancel_asked_at=now.isoformat())]
    assert opened().button(key="cancel").disabled
    long_ago = (now - timedelta(seconds=live.ASK_AGAIN_S + 1)).isoformat()
    server.views = [replace(server.views[0], cancel_asked_at=long_ago)]
    opened().button(key="again").click().run()
    assert ended == [server.views[0].run_id]


def test_the_word_on_a_run_that_ended_is_a_sentence() -> None:
    assert live.whole("cancelled", "as it was asked for") == "Cancelled as it was asked for"
    assert live.whole("cancelled", "cancelled before it started") == "Cancelled before it started"
    assert live.whole("running", "being cancelled") == "Being cancelled"


def test_updates_are_those_of_a_run_with_the_same_samples_else_counted(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "count_samples", lambda version, preprocess: (51 * preprocess.holds_per_trade, 9))
    server.views = [done_view(1)]
    page = opened()
    assert "36 an epoch, 288 in all" in str(page.table[0].value.to_dict())
    page.number_input(key="preprocess.holds_per_trade").set_value(3).run()
    assert "31 an epoch" in str(page.table[0].value.to_dict())
    page.number_input(key="train.batch_size").set_value(None).run()
    assert "31 an epoch" in str(page.table[0].value.to_dict())


def test_what_is_wrong_with_the_data_stands_where_updates_would(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def invalid(version: str, preprocess: Any) -> int:
        raise ValueError("data/annotations.csv row 27: side is 'up', expected long or short")

    monkeypatch.setattr(backend, "count_samples", invalid)
    page = opened()
    assert not page.exception
    assert "row 27" in str(page.table[0].value.to_dict())


@pytest.mark.parametrize(("current", "asked"), [(True, None), (False, VERSION)])
def test_only_a_version_that_is_not_in_data_is_asked_for_by_name(
    monkeypatch: pytest.MonkeyPatch, current: bool, asked: str | None
) -> None:
    orders_sent: list[Any] = []
    monkeypatch.setattr(control, "datasets", lambda: [replace(dataset(), current=current)])
    monkeypatch.setattr(control, "trigger", lambda *order: orders_sent.append(order))
    backend.start({}, VERSION, "key")
    assert orders_sent == [({}, asked, "key")]


def test_the_shown_run_goes_into_the_address(server: Server) -> None:
    server.views = [run_view(3, "queued"), run_view(2, "running"), done_view(1)]
    page = opened()
    (told,) = [entry.proto for entry in page.get("bidi_component") if entry.proto.component_name.endswith("address")]
    assert json.loads(told.json) == {"name": "run", "value": server.views[1].run_id}
    assert plain(server.views[1].run_id) in said(page)
    assert not page.query_params  # it would be a step of history of its own


@pytest.mark.parametrize(("row", "shown"), [(0, "the other"), (1, "opened")])
def test_only_a_row_that_was_clicked_changes_the_shown_run(
    monkeypatch: pytest.MonkeyPatch, row: int, shown: str
) -> None:
    address = {"run": "opened"}
    monkeypatch.setattr(newest.st, "query_params", address)
    monkeypatch.setattr(newest.st, "session_state", {"key": {"selection": {"rows": [row]}}})
    newest.open_run("key", ["the other", "opened"], "opened")
    assert address["run"] == shown


def test_a_late_report_of_the_row_selected_from_the_start_keeps_the_new_run(monkeypatch: pytest.MonkeyPatch) -> None:
    address = {"run": "started just now"}
    monkeypatch.setattr(newest.st, "query_params", address)
    monkeypatch.setattr(newest.st, "session_state", {"key": {"selection": {"rows": [0]}}})
    newest.open_run("key", ["opened"], "opened")
    assert address["run"] == "started just now"


def test_the_result_reads_as_on_the_command_line() -> None:
    assert outcome.RULES == summary.RULES
    found = done_view(1).result or {}
    told = dict([*summary.data_rows(found), *summary.model_rows(found), *summary.score_rows(found)])
    shown = outcome.facts(found)
    assert set(shown) <= set(told)
    for name in ("Model", "Weights", "Checkpoint", "Device", "Peak memory"):
        assert shown[name] == told[name]


def test_hostile_text_is_shown_as_text(server: Server) -> None:
    failed = run_view(2, "failed", message=HOSTILE, dataset_version=HOSTILE)
    server.views = [failed, done_view(1, dataset_name=HOSTILE)]
    for view in server.views:
        page = opened(view.run_id)
        assert not page.exception
        shown = said(page) + str([table.value.to_dict() for table in page.table])
        assert "img src" in shown
        assert not re.search(r"(?<!\\)(<img|\*loud|\[a|\]\(|:red\[)", shown)
    assert HOSTILE[:7] in page.dataframe[-1].value["Dataset"].tolist()


def test_a_dqn_claims_no_updates_before_its_episodes_are_known(server: Server) -> None:
    page = opened()
    page.session_state["model.kind"] = "dqn"
    page.run()
    assert not page.exception
    assert "107,139 counted for dqn base" in str(page.table[0].value.to_dict())
    assert "told when the run begins" in str(page.table[0].value.to_dict())


def test_the_predicted_peak_stands_beside_the_form_with_its_verdict(server: Server) -> None:
    page = opened()
    assert "**Predicted peak 100 MiB**" in said(page)
    assert ":green-badge[fits]" in said(page)
    assert "On an 8 GB card it fits: 550 MiB with the CUDA context." in said(page)
    page.number_input(key="train.batch_size").set_value(9).run()
    assert (server.planner.asked[-1].batch, server.planner.asked[-1].samples) == (9, (180, 35))


def test_what_does_not_fit_says_what_would(server: Server) -> None:
    server.planner.mib = 1_000_000
    page = opened()
    assert ":red-badge[does not fit]" in said(page)
    assert "Batch 2 would; with this batch precision bf16 would." in said(page)


def test_time_and_disk_are_told_from_earlier_runs_like_this_and_else_absent(server: Server) -> None:
    page = opened()
    assert {"Time", "Disk"}.isdisjoint(page.table[0].value.index)
    params = run_view(1, "done").params
    found = done_view(1)
    trained = (found.result or {})["train"] | {"elapsed_s": 72.0}
    server.views = [replace(found, params=params, result=(found.result or {}) | {"train": trained})]
    facts = opened().table[0].value.to_dict()
    assert "about 5 min, from 1 earlier run like this" in str(facts)
    assert "2 checkpoints of 42\\.3 MiB and the best, from 1 earlier run" in str(facts).replace("\\\\", "\\")


def dead_view(**more: Any) -> RunView:
    return run_view(1, "cancelled", **more)


def test_the_proof_of_a_cancel_stands_line_by_line(server: Server) -> None:
    server.views = [dead_view(proof=("asked 14:15:22", "4 processes ended", "*memory* is back"))]
    assert ":gray[asked 14\\:15\\:22 · 4 processes ended · \\*memory\\* is back]" in said(opened())


@pytest.mark.parametrize(("key", "step"), [("resume", 663), ("retry", None)])
def test_a_dead_run_is_resumed_or_retried(
    server: Server, monkeypatch: pytest.MonkeyPatch, key: str, step: int | None
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(backend, key, sent.append)
    server.views = [dead_view(resumable_step=step)]
    page = opened()
    assert [button.label for button in page.button if button.key in ("resume", "retry")] == [
        *(["Resume from update 663"] if step else []),
        "Retry",
    ]
    page.button(key=key).click().run()
    assert sent == [server.views[0].run_id]


def test_a_refused_resume_is_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(run_id: str) -> None:
        raise ValueError("run 1 is queued: there is nothing to *resume*")

    monkeypatch.setattr(backend, "retry", refuse)
    server.views = [dead_view()]
    page = opened()
    page.button(key="retry").click().run()
    assert "nothing to \\*resume\\*" in said(page)
    assert dead.REFUSED in page.session_state


def test_why_a_queued_run_waits_is_said_in_the_words_of_the_server(server: Server) -> None:
    server.views = [replace(dead_view(reason="no worker answers"), state="queued", place=1)]
    assert "is queued in place 1: no worker answers; this page" in opened().info[0].value


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_is_shown_as_text_on_the_page_of_a_run(server: Server, text: str) -> None:
    server.views = [replace(done_view(1, dataset_name=text), message=text), run_view(2, "failed", message=text)]
    for view in server.views:
        page = opened(view.run_id)
        assert not page.exception
        shown = said(page) + str([table.value.to_dict() for table in page.table])
        assert not re.search(r"(?<!\\)(<img|<script|\*loud|\[a|\]\(|:red\[|\$x|`code)", shown)


def fit_line(page: AppTest) -> str:
    return next(
        entry.value for entry in page.markdown if "-badge[" in entry.value and "Predicted peak" not in entry.value
    )


def test_whether_it_fits_stands_beside_the_button(server: Server) -> None:
    page = opened()
    assert fit_line(page).startswith(":green-badge[fits] 100 MiB of ")
    server.planner.mib = 2**24
    page = opened()
    assert fit_line(page).startswith(":red-badge[does not fit] 16,384 GiB of ")
    assert "Batch 2 would; with this batch precision bf16 would." in fit_line(page)
    page.segmented_control(key="model.kind").set_value("dqn").run()
    assert not [entry for entry in page.markdown if "-badge[" in entry.value]


def test_the_form_is_there_before_samples_are_counted_and_memory_is_planned(server: Server) -> None:
    asked: list[str] = []
    server.planner.count = lambda version, preprocess: asked.append(version)  # type: ignore[assignment, func-returns-value]
    page = opened()
    assert not page.exception
    assert set(asked) == {VERSION}
    assert not server.planner.asked
    assert not page.button(key="start").disabled
    assert "Working out the peak" in said(page)
    assert "samples are being counted" in str(page.table[0].value.to_dict())
    server.planner.count = lambda version, preprocess: (180, 35)  # type: ignore[assignment, method-assign]
    page.run()
    assert "36 an epoch" in str(page.table[0].value.to_dict())


def test_a_run_of_other_data_than_now_says_that_there_is_newer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.views = [run_view(1, "running")]
    assert "newer data" not in said(opened())
    monkeypatch.setattr(backend, "datasets", lambda: [dataset("f" * 32 + ".dir", samples=255)])
    assert "data/ holds dataset version fffffff now, and this run keeps to 0123456" in said(opened())


@pytest.mark.parametrize(("state", "last"), [("running", 40), ("crashed", None)])
def test_the_axis_reaches_to_the_plan_while_a_run_goes_on_and_no_further_than_it_went_afterwards(
    server: Server, monkeypatch: pytest.MonkeyPatch, state: str, last: int | None
) -> None:
    row = {"step": "1", "epoch": "1", "elapsed_s": "1", "loss": "0.5", "steps": "40"}
    monkeypatch.setattr(backend, "curves", lambda run_id, most: {"train": [row], "validation": []})
    drawn: list[Any] = []
    monkeypatch.setattr(
        "streamlit.delta_generator.DeltaGenerator.echarts_chart", lambda self, option, **_: drawn.append(option)
    )
    server.views = [run_view(1, state)]
    opened(server.views[0].run_id)
    assert [option["xAxis"].get("max") for option in drawn if option["xAxis"].get("name") == "update"] == [last, last]
