"""Import, predict, promote, roll back and prune in Chromium, on the real servers: what the page says is on the disk."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from browser_stack import Stack, page_without, running
from checkout import copy_project
from playwright.sync_api import Browser, Page, expect
from test_browser import browser, pytestmark
from test_doors import environment

from dataset.versions import version
from model import checkpoint

__all__ = ["browser", "pytestmark"]

expect.set_options(timeout=60_000)
HOSTILE = "<img src=x onerror=alert(1)> =1+1 **loud** :red[x]"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A project with two registered versions."""
    project = copy_project(tmp_path_factory.mktemp("pages") / "project")
    for keep in ("2", "3"):  # no stage depends on it: the second run takes all of them from the first
        command = [sys.executable, "-m", "flows.cli", "run", "--json", "--set", f"prune.keep_last={keep}"]
        subprocess.run(command, cwd=project.root, env=environment(project), check=True, capture_output=True)
    with running(project) as found:
        yield found


@pytest.fixture(scope="module", params=["", "prefect"], ids=["all up", "without Prefect"])
def address(stack: Stack, request: pytest.FixtureRequest) -> Iterator[str]:
    """The page of the stack, or another on the same project that cannot reach a server."""
    with page_without(stack, request.param) if request.param else nullcontext(stack.address) as found:
        yield found


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """What goes wrong in the browser, a script that runs included; there must be nothing."""
    found: list[str] = []
    yield found
    assert not found


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 1600})
    tab = context.new_page()
    tab.set_default_timeout(60_000)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    yield tab
    context.close()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).last.click()  # a stale twin may still be fading


def answer(page: Page, name: str) -> None:
    """Presses a button of the question that is open."""
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0, timeout=60_000)


def send(page: Page, name: str, content: bytes) -> None:
    page.locator("input[type=file]").first.set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})


def test_an_import_changes_data_only_after_a_question_and_can_be_taken_back(
    page: Page, stack: Stack, address: str
) -> None:
    data = stack.project.root / "data"
    original, rows = version(data), (data / "annotations.csv").read_text().splitlines()
    page.goto(f"{address}data")
    expect(page.get_by_text("51 trades, 25 long and 26 short")).to_be_visible()
    press(page, "Import files")

    send(page, "<img src=x onerror=alert(1)>.csv", b"PK\x03\x04" + bytes(1000))
    page.get_by_placeholder("Binance August 2024").fill("Mine <b>")
    press(page, "Check files")
    refused = page.get_by_text("<img src=x onerror=alert(1)>.csv: holds a ZIP archive")
    expect(refused).to_be_visible()

    wrong = rows[2].replace(",short,", ",up,")
    send(page, "mine.csv", "\n".join([*rows[:2], wrong, *rows[3:]]).encode())
    expect(refused).to_have_count(0)  # an answer about other files does not stand
    press(page, "Check files")
    refused = page.get_by_text("mine.csv row 3, side: 'up' is unknown")
    expect(refused).to_be_visible()
    assert version(data) == original

    noted = rows[1].replace("simulated trade", HOSTILE)
    send(page, "mine.csv", "\n".join([rows[0], noted, *rows[2:30]]).encode())
    expect(refused).to_have_count(0)
    press(page, "Check files")
    expect(page.get_by_text("29 of 29 rows accepted")).to_be_visible()
    press(page, "Put it into data/")
    expect(page.get_by_role("dialog").get_by_text(f"Version {original[:7]} leaves data/ and stays")).to_be_visible()
    assert version(data) == original
    answer(page, "Replace data/")
    expect(page.get_by_text(f"Version {original[:7]} stays in the DVC cache.")).to_be_visible()
    expect(page.get_by_text(re.compile("29 trades, .* long"))).to_be_visible()
    expect(page.get_by_text(HOSTILE)).to_be_visible()
    assert version(data) != original

    page.goto(f"{address}data?data={original[:7]}")
    press(page, "Use this version")
    answer(page, "Replace data/")
    expect(page.get_by_text("51 trades, 25 long and 26 short")).to_be_visible()
    assert version(data) == original


def test_a_file_of_300_mb_is_refused_before_it_is_sent(page: Page, stack: Stack, tmp_path: Path) -> None:
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(300 << 20)
    page.goto(f"{stack.address}data")
    press(page, "Import files")
    page.locator("input[type=file]").first.set_input_files(large)
    expect(page.get_by_text(re.compile("must be 64.*or smaller"))).to_be_visible()


def test_a_trade_and_its_timeframe_are_in_the_address(page: Page, stack: Stack) -> None:
    page.goto(f"{stack.address}data?trade=sim-003&timeframe=15m")
    expect(page.get_by_text("Trade sim-003")).to_be_visible()
    press(page, "Next")
    page.wait_for_url(re.compile("trade=sim-004"))
    expect(page.get_by_text("4 of 51")).to_be_visible()
    page.get_by_role("radio", name="1h").click()
    page.wait_for_url(re.compile("timeframe=1h"))
    page.reload()
    expect(page.get_by_text("Trade sim-004")).to_be_visible()
    expect(page.get_by_role("radio", name="1h")).to_be_checked()


def test_a_version_answers_where_it_is_asked(page: Page, stack: Stack, address: str) -> None:
    page.goto(f"{address}predict")
    expect(page.get_by_text(re.compile(r"Version \d says: (buy|hold|sell)"))).to_be_visible()
    expect(page.get_by_text("Test split: ")).to_be_visible()
    before = page.get_by_role("textbox", name="Time, UTC").input_value()
    chart = page.locator("[data-testid=stEChartsChart] canvas, .stEChartsChart canvas").first
    box = chart.bounding_box()
    assert box
    page.mouse.click(box["x"] + 120, box["y"] + 150)
    page.wait_for_url(re.compile("time="))
    expect(page.get_by_role("textbox", name="Time, UTC")).not_to_have_value(before)
    expect(page.get_by_text(re.compile(r"Version \d says"))).to_be_visible()
    page.goto(f"{address}predict?version=1&time=2025-01-20+10:00")
    expect(page.get_by_text("Version 1 says")).to_be_visible()
    expect(page.get_by_text("20 Jan 2025, 10:00 UTC")).to_be_visible()


def champion(stack: Stack) -> int:
    """As the command line tells it."""
    command = [sys.executable, "-m", "flows.cli", "registry", "list", "--json"]
    done = subprocess.run(
        command, cwd=stack.project.root, env=environment(stack.project), check=True, capture_output=True, text=True
    )
    versions = json.loads(done.stdout)["versions"]
    return next(int(entry["version"]) for entry in versions if "champion" in entry["aliases"])


def test_a_promotion_needs_a_reason_and_is_rolled_back_after_a_question(page: Page, stack: Stack, address: str) -> None:
    held = champion(stack)
    other = 3 - held
    page.goto(f"{address}registry?version={other}")
    expect(page.get_by_text(f"Version {held} serves, 2 registered")).to_be_visible()
    promote = page.get_by_role("button", name=f"Promote version {other}")
    expect(promote).to_be_disabled()
    page.get_by_role("textbox", name=f"Reason for promoting version {other}").fill(HOSTILE)
    expect(promote).to_be_enabled()
    promote.click()
    expect(page.get_by_text(f"Version {other} serves, 2 registered")).to_be_visible()
    expect(page.get_by_text(HOSTILE)).to_be_visible()
    assert champion(stack) == other

    press(page, f"Roll back to version {held}")
    question = page.get_by_role("dialog")
    expect(question.get_by_text(f"Version {held} becomes the champion again")).to_be_visible()
    back = question.get_by_role("button", name=f"Roll back to version {held}")
    expect(back).to_be_disabled()
    question.get_by_role("textbox", name="Reason").fill("worse in use")
    expect(back).to_be_enabled()
    back.click()
    expect(page.get_by_text(f"Version {held} serves, 2 registered")).to_be_visible()
    assert champion(stack) == held


def test_what_may_go_goes_after_a_question_and_its_bytes_are_really_free(
    page: Page, stack: Stack, address: str
) -> None:
    page_frees_a_checkpoint(page, stack, address)


def page_frees_a_checkpoint(page: Page, stack: Stack, address: str) -> None:
    (run, *_) = sorted(stack.project.runs.iterdir())
    kept = next(path for path in (run / "checkpoints").iterdir() if path.name.startswith("step-"))
    weights, _, state = checkpoint.load(kept)
    older = checkpoint.save(kept.parent, 1, weights, None, state)
    page.wait_for_timeout(11_000)  # the page's plan may be ten seconds old
    page.goto(f"{address}registry")
    removal = re.compile(r"Remove \d+ items?")
    page.get_by_role("button", name=removal).last.click()
    expect(page.get_by_role("dialog").get_by_text(re.compile(r"\d+ items? of"))).to_be_visible()
    assert older.exists()
    page.get_by_role("dialog").get_by_role("button", name=removal).click()
    expect(page.get_by_text(re.compile(r"\d+ items? removed, \d+\.\d MiB freed"))).to_be_visible()
    assert not older.exists()
    assert kept.exists()


def test_without_mlflow_what_it_knows_is_missing_and_the_rest_works(page: Page, stack: Stack) -> None:
    with page_without(stack, "mlflow") as address:
        page_frees_a_checkpoint(page, stack, address)
        for view, sentence in (("registry", "Versions cannot be told now"), ("predict", "No version can be asked now")):
            page.goto(f"{address}{view}")
            expect(
                page.get_by_text(re.compile(f"^{sentence}: MLflow does not answer at .*; start it with"))
            ).to_be_visible()
            expect(page.get_by_role("button", name=re.compile("Promote|Roll back"))).to_have_count(0)
        page.goto(f"{address}data")
        press(page, "Import files")
        send(page, "mine.csv", (stack.project.root / "data" / "annotations.csv").read_bytes())
        page.get_by_placeholder("Binance August 2024").fill("Mine")
        press(page, "Check files")
        expect(page.get_by_text("51 of 51 rows accepted")).to_be_visible()
