"""The Overview: champion, runs, disk and services, each with what is missing said. The server is a stand-in."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import streamlit as st
from checkout import ROOT
from hostile import TEXTS
from run_views import done_view, run_view, service
from streamlit.testing.v1 import AppTest

from app import backend, champion, newest, registered, scores
from flows.control import Disk, VersionView
from flows.errors import ServiceDownError
from flows.runview import Progress

CHANCE = 1 / 3


def version(number: int, *aliases: str, **more: Any) -> VersionView:
    plain = VersionView(
        version=number,
        name="pivotline",
        aliases=aliases,
        run_id="20261130-070100-000001",
        created_at="2026-11-30T07:13:00+00:00",
        dataset_version="0123456789.dir",
        simulated=True,
        kind="transformer",
        preset="lite",
        score=0.6,
        interval=(0.5, 0.7),
        chance=CHANCE,
        parameters=3_689_253,
        weights_sha256="ab" * 32,
        reason="",
        status="READY",
        files={},
    )
    return replace(plain, **more)


class Shelf:
    """What stands in for the reading of the registry."""

    def __init__(self, found: registered.Found | None) -> None:
        self.found = found

    def look(self) -> registered.Found | None:
        return self.found


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Opens the page on some runs and versions."""
    used = Disk(
        by_kind={"checkpoints": 3 * 2**30, "logs": 2**20}, used_bytes=2**32, budget_bytes=2**33, free_bytes=2**35
    )

    def show(versions: registered.Found | None = None, views: Any = (), **plan: Callable[[], Any]) -> AppTest:
        known: dict[str, Any] = {
            "services": lambda: [service(), service("MLflow", "http://127.0.0.1:5000")],
            "runs": lambda: list(views),
            "disk": lambda: used,
        }
        for name, function in (known | plan).items():
            monkeypatch.setattr(backend, name, function)
        monkeypatch.setattr(champion, "SHELF", Shelf(versions))
        page = AppTest.from_file(ROOT / "app" / "views" / "overview.py", default_timeout=60).run()
        assert not page.exception
        return page

    return show


def said(page: AppTest) -> str:
    kinds = (page.markdown, page.caption, page.info, page.error, page.warning, page.subheader)
    return "\n".join(entry.value for kind in kinds for entry in kind) + str(
        [table.value.to_dict() for table in page.table]
    )


def test_the_champion_stands_with_its_interval_beside_the_one_before(shown: Callable[..., AppTest]) -> None:
    found = [version(4), version(3, "champion", reason="first"), version(2, reason="better"), version(1)]
    page = shown(found)
    assert "**Version 3** · lite · trained on simulated dataset 0123456" in said(page)
    assert "60\\.0 % \\(50\\.0–70\\.0\\), 95 % intervals\\. They overlap\\: better is not proven" in said(page)


@pytest.mark.parametrize(
    ("best", "before", "words"),
    [
        ((0.2, 0.7), (0.1, 0.3), "better than chance is not proven"),
        ((0.5, 0.7), (0.1, 0.3), "They do not overlap"),
        ((0.5, 0.7), (0.4, 0.6), "better is not proven"),
    ],
)
def test_what_the_intervals_do_not_prove_is_said(best: Any, before: Any, words: str) -> None:
    assert words in champion.note([version(2, interval=best), version(1, interval=before)])


def test_a_score_is_drawn_on_its_interval_and_only_ours_in_colour() -> None:
    option = scores.whiskers([("version 2", 60.0, 50.0, 70.0), ("version 1", 40.0, 40.0, 40.0)], 33.3)
    assert [entry["data"] for entry in option["series"] if entry["type"] == "line"] == [
        [[50.0, "version 2"], [70.0, "version 2"]],
        [],
    ]
    assert option["series"][1]["itemStyle"] != option["series"][3]["itemStyle"]


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ([], "The first trained model becomes it"),
        ([version(1)], "No version is champion"),
        ("MLflow does not answer at *x*", "The registry cannot be read: MLflow does not answer at \\*x\\*"),
    ],
)
def test_a_missing_champion_is_explained(shown: Callable[..., AppTest], versions: Any, words: str) -> None:
    assert words in said(shown(versions))


def test_the_running_run_and_the_queue_are_told(shown: Callable[..., AppTest]) -> None:
    done = Progress(epoch=2, epochs=8, step=50, steps=200, eta_s=61.0)
    stages = (("preprocess", "done", ""), ("train", "running", ""))
    views = [
        run_view(3, "queued", place=1, reason="waits for run 2"),
        run_view(2, "running", progress=done, stages=stages),
        done_view(1),
    ]
    page = shown([], views)
    assert "Queue: 1 run. Next: base on 0123456, waits for run 2." in said(page)
    assert "**base on 0123456** :blue-badge[running]" in said(page)


def test_disk_is_told_against_its_budget_and_services_with_their_addresses(shown: Callable[..., AppTest]) -> None:
    words = said(shown([]))
    assert "Disk: 4.0 GiB of 8.0 GiB" in words
    assert "50\\.0 % of the budget is used; 32\\.0 GiB are free" in words
    assert ":green[answers] at http" in words


def test_a_service_that_is_down_is_a_warning_and_red(shown: Callable[..., AppTest]) -> None:
    page = shown([], services=lambda: [service(up=False)])
    assert page.warning[0].value.startswith("Prefect does not answer at")
    assert ":red[does not answer]" in said(page)


def test_a_registry_that_is_down_is_read_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def down() -> list[VersionView]:
        raise ServiceDownError("MLflow does not answer")

    monkeypatch.setattr(backend, "versions", down)
    monkeypatch.setattr(registered, "FRESH_S", -1.0)
    shelf = registered.Shelf()
    assert shelf.look() is None
    shelf.reading.result(10)  # type: ignore[union-attr]
    assert shelf.look() == "MLflow does not answer"
    monkeypatch.setattr(backend, "versions", lambda: [version(1)])
    for _ in range(2):
        shelf.reading.result(10)  # type: ignore[union-attr]
        found = shelf.look()
    assert found == [version(1)]


def test_what_was_read_long_ago_or_before_a_promotion_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "versions", lambda: [version(1, "champion")])
    shelf = read_once()
    shelf.forget()
    assert shelf.look() is None
    shelf = read_once()
    shelf.read_at -= registered.OLD_S
    assert shelf.look() is None
    shelf.reading.result(10)  # type: ignore[union-attr]
    assert shelf.look() == [version(1, "champion")]


def test_a_reading_that_began_before_a_promotion_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    promoted = threading.Event()
    monkeypatch.setattr(backend, "versions", lambda: promoted.wait(10) and [version(1, "champion")])
    shelf = registered.Shelf()
    shelf.look()
    before = shelf.reading
    shelf.forget()
    promoted.set()
    before.result(10)  # type: ignore[union-attr]
    assert shelf.look() is None


def read_once() -> registered.Shelf:
    """A shelf whose first reading has ended."""
    shelf = registered.Shelf()
    shelf.look()
    shelf.reading.result(10)  # type: ignore[union-attr]
    assert shelf.look() == [version(1, "champion")]
    return shelf


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_is_text(shown: Callable[..., AppTest], text: str) -> None:
    views = [run_view(2, "queued", place=1, reason=text), run_view(1, "running", dataset_version=text)]
    words = said(shown([version(1, "champion", preset=text, dataset_version=text)], views))
    assert not re.search(r"(?<!\\)(<img|<script|\*loud|\[a\]|\]\(|:red\[x|\$x|`code)", words)


def test_the_next_in_the_queue_is_the_one_in_the_first_place_and_progress_is_its_share(
    shown: Callable[..., AppTest],
) -> None:
    done = Progress(epoch=2, epochs=8, step=50, steps=200, eta_s=61.0)
    first, second = (run_view(number, "queued", place=number, dataset_version=f"{number}" * 9) for number in (1, 2))
    running = run_view(3, "running", progress=done, stages=(("train", "running", ""),))
    page = shown([], [second, first, running])
    assert "Queue: 2 runs. Next: base on 1111111." in said(page)
    assert page.get("progress")[0].proto.value == 25  # type: ignore[union-attr]


def test_a_click_on_a_run_opens_that_run(shown: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(newest, "pick", lambda views: views[1].run_id)
    monkeypatch.setattr(st, "switch_page", lambda page, query_params=None: opened.append((page, query_params)))
    views = [done_view(2), done_view(1)]
    shown([], views)
    assert opened == [("views/train.py", {"run": views[1].run_id})]
