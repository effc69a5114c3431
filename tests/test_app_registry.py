"""The Registry view: scores beside the one to beat, a reason before a promotion, a question before a removal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from app_project import said, view
from foreign import TEXTS, live
from run_views import service
from streamlit.testing.v1 import AppTest

from app import backend, pruning, registry_reader, version_words
from flows import control
from flows.control import Pruned, PruneItem, PrunePlan, VersionView
from flows.errors import ServiceDownError

PLAIN = VersionView(
    version=1, name="pivotline", aliases=(), run_id="20261130-120000-aaaaaa", created_at="2026-11-30T12:00:00+00:00",
    dataset_version="0" * 32 + ".dir", simulated=True, kind="transformer", preset="lite", score=0.6,
    interval=(0.5, 0.7), chance=1 / 3, parameters=3_689_253, weights_sha256="ab" * 32, reason="", status="READY",
    files={},
)  # fmt: skip
CHAMPION = replace(PLAIN, aliases=("champion",), reason="there was no champion")
SECOND = replace(PLAIN, version=2, score=0.65, interval=(0.55, 0.74), run_id="20261130-130000-bbbbbb")
GOES = PruneItem(
    place="run", path=Path("a"), run_id=PLAIN.run_id, name="checkpoint 5", bytes=2**20, goes=True, why="older"
)
ITEMS = (GOES, replace(GOES, path=Path("b"), name="checkpoint 9", bytes=2**21, goes=False, why="best"))
PLAN = PrunePlan(items=ITEMS, free_bytes=2**20, kept_bytes=2**21, budget_bytes=2**30)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What stands in for MLflow and the disk; `asked` is what they were told to do."""
    state: dict[str, Any] = {"versions": [SECOND, CHAMPION], "earlier": None, "asked": [], "plan": PLAN}

    def told(*order: Any) -> Any:
        state["asked"].append(order)
        return (
            Pruned(removed=1, kept=1, freed_bytes=2**20, notes=("kept b",))
            if order[0] == "prune"
            else "version 2 is it"
        )

    monkeypatch.setattr(backend, "services", lambda: [service()])
    monkeypatch.setattr(control, "versions", lambda: state["versions"])
    monkeypatch.setattr(control, "earlier_champion", lambda: state["earlier"])
    monkeypatch.setattr(control, "prune_plan", lambda: state["plan"])
    monkeypatch.setattr(control, "promote", lambda version, reason: told("promote", version, reason))
    monkeypatch.setattr(control, "roll_back", lambda reason: told("roll back", reason))
    monkeypatch.setattr(control, "prune", lambda plan: told("prune", plan))
    registry_reader.registry.clear()
    pruning.plan.clear()
    return state


def opened(**address: str) -> AppTest:
    return view("registry", **address)


def press(page: AppTest, label: str) -> AppTest:
    next(button for button in page.button if button.label == label).click().run()
    assert not page.exception
    return page


def test_a_promotion_waits_for_its_reason(server: dict[str, Any]) -> None:
    page = opened()
    assert page.subheader[0].value == "Version 1 serves, 2 registered"
    assert page.button(key="promote").disabled
    page.text_input[0].set_value("  ").run()
    assert page.button(key="promote").disabled
    page.text_input[0].set_value("better on new data").run()
    assert not page.button(key="promote").disabled
    press(page, "Promote version 2")
    assert server["asked"] == [("promote", 2, "better on new data")]
    assert page.info[0].value == "Version 2 is it\\."


def test_a_reason_that_is_too_long_is_said_and_not_dropped(server: dict[str, Any]) -> None:
    page = opened()
    page.text_input[0].set_value("x" * 201).run()
    assert page.text_input[0].value == "x" * 201  # so that it can be shortened
    assert "201 letters: 200 are the most" in said(page)
    assert page.button(key="promote").disabled


def test_a_version_that_is_not_ready_is_not_promoted(server: dict[str, Any]) -> None:
    server["versions"] = [replace(SECOND, status="PENDING_REGISTRATION"), CHAMPION]
    page = opened()
    page.text_input[0].set_value("better on new data").run()
    assert page.button(key="promote").disabled
    assert page.button(key="promote").help == "It is not ready in MLflow."


def test_the_champion_is_not_promoted_and_a_lone_one_has_no_way_back(server: dict[str, Any]) -> None:
    page = opened(version="1")
    assert "Version 1 is the champion." in said(page)
    assert not page.text_input
    assert page.button(key="roll back").disabled


def test_versions_of_the_same_weights_are_told(server: dict[str, Any]) -> None:
    server["versions"] = [replace(SECOND, weights_sha256="cd" * 32), CHAMPION]
    assert "Same weights" not in said(opened())
    registry_reader.registry.clear()
    server["versions"] = [SECOND, CHAMPION]
    assert "version 1: each run registers its own" in said(opened()).replace("\\", "")


def test_rolling_back_asks_and_names_both_versions(server: dict[str, Any]) -> None:
    server["earlier"] = 7
    page = press(opened(version="1"), "Roll back to version 7")
    assert not server["asked"]
    assert "Version 7 becomes the champion again. Version 1 stays registered" in said(page)
    assert page.button(key="confirmed").disabled


def test_the_loser_of_two_promotions_is_told(server: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(version: int, reason: str) -> str:
        raise ValueError("someone made version 3 the champion meanwhile")

    monkeypatch.setattr(control, "promote", lost)
    page = opened()
    page.text_input[0].set_value("mine").run()
    press(page, "Promote version 2")
    assert "someone made version 3" in page.error[0].value


def test_pruning_shows_its_plan_asks_once_and_says_what_was_freed(server: dict[str, Any]) -> None:
    page = opened()
    assert page.subheader[-1].value == "Checkpoints and caches: 3.0 MiB, 1.0 MiB can be freed"
    table = page.dataframe[-1].value
    assert table["Plan"].tolist() == ["remove", "keep"]
    assert table["Why"].tolist() == ["older", "best"]
    press(page, "Remove 1 item")
    assert not server["asked"]
    assert "Protection is looked at again" in said(page)
    page.button(key="confirmed").click().run()
    assert server["asked"] == [("prune", PLAN)]
    assert "1 item removed, 1\\.0 MiB freed, 1 kept\\. kept b" in page.info[0].value


def test_where_nothing_may_go_nothing_can_be_pressed(server: dict[str, Any]) -> None:
    server["plan"] = replace(PLAN, items=ITEMS[1:], free_bytes=0)
    page = opened()
    assert page.button(key="remove").disabled
    assert "nothing can be freed" in page.subheader[-1].value


def test_what_may_go_without_freeing_a_byte_is_no_contradiction(server: dict[str, Any]) -> None:
    server["plan"] = replace(PLAN, items=(replace(ITEMS[0], bytes=0), ITEMS[1]), free_bytes=0)
    page = opened()
    assert not page.button(key="remove").disabled
    assert page.subheader[-1].value.endswith("1 item can go, no bytes yet")
    assert "Their bytes have other names that stay" in said(page)


def test_a_registry_that_is_down_is_said_and_the_rest_stays(
    server: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def down() -> list[VersionView]:
        raise ServiceDownError("MLflow does not answer; start it with `make up`")

    monkeypatch.setattr(control, "versions", down)
    page = opened()
    assert "Versions cannot be told now: MLflow does not answer" in page.warning[0].value
    assert "Checkpoints and caches" in page.subheader[-1].value


def test_before_the_first_version_the_view_says_what_makes_one(server: dict[str, Any]) -> None:
    server["versions"] = []
    assert "No version yet" in said(opened())


@pytest.mark.parametrize("text", [" | ".join(TEXTS), TEXTS[0]], ids=["all", "first"])
def test_text_of_people_is_text(server: dict[str, Any], text: str) -> None:
    server["versions"] = [replace(CHAMPION, reason=text, run_id=text, dataset_version=text)]
    server["plan"] = replace(PLAN, items=(replace(ITEMS[0], name=text, why=text),), notes=(text,))
    page = opened()
    assert "img src" in said(page)
    assert not live(said(page))


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (SECOND, "The intervals overlap: neither is proven better."),
        (replace(SECOND, interval=(0.71, 0.8)), "The intervals do not overlap: it is better."),
        (replace(SECOND, interval=(0.3, 0.4)), "It reaches down to chance, 33.3 %"),
        (replace(SECOND, interval=(0.35, 0.4)), "The intervals do not overlap: it is worse."),
        (replace(SECOND, interval=None), "Without intervals nothing is proven."),
        (replace(SECOND, score=None), "Version 2 has no score"),
        (replace(SECOND, dataset_version="1" * 32 + ".dir"), "was judged on another dataset"),
    ],
)
def test_what_two_scores_prove_is_said(chosen: VersionView, words: str) -> None:
    assert words in version_words.answer(chosen, CHAMPION)


def test_a_version_of_a_link_that_is_not_there_is_said(server: dict[str, Any]) -> None:
    page = opened(version="999")
    assert "The link's version 999 is not registered here; another one is shown." in [w.value for w in page.warning]
