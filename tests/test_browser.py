"""A run from the page's form to its result, in Chromium, on the real stack: the page shows what the server knows."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_stack import Stack, page_without, running
from checkout import copy_project
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from bench.browser import CHROMIUM, chromium

RUN_MS = 300_000
expect.set_options(timeout=60_000)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"there is no Chromium at {CHROMIUM}"),
]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack of its own."""
    with running(copy_project(tmp_path_factory.mktemp("browser") / "project", {"train": {"batch_size": 5}})) as found:
        yield found


@pytest.fixture(scope="module")
def address(stack: Stack) -> str:
    return f"{stack.address}train"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def opened(context: BrowserContext, address: str, complaints: list[str], title: str = "Train") -> Page:
    """The page in a new tab; what goes wrong in it is written down."""

    def complain(message: ConsoleMessage) -> None:
        probing = "/_stcore/" in message.location.get("url", "")  # Streamlit looks for its own base path
        if message.type == "error" and not probing:
            complaints.append(message.text)

    page = context.new_page()
    page.on("console", complain)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_default_timeout(60_000)
    page.goto(address)
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible(timeout=60_000)
    return page


def fill(page: Page, label: str, value: str) -> None:
    field = page.get_by_role("spinbutton", name=label, exact=True)
    field.fill(value)
    field.press("Tab")
    expect(field).to_have_value(value)


def seen(page: Page, name: str) -> bytes:
    """How a chart looks now."""
    return page.locator(f".st-key-{name} canvas").first.screenshot()


def wait_for_change(page: Page, name: str, before: bytes) -> None:
    deadline = time.monotonic() + 60
    while seen(page, name) == before:
        assert time.monotonic() < deadline, f"{name} did not change"
        page.wait_for_timeout(500)


def test_a_run_is_started_followed_and_read_from_the_page(browser: Browser, address: str) -> None:
    complaints: list[str] = []
    first = browser.new_context(viewport={"width": 1280, "height": 1600})
    page = opened(first, address, complaints)
    page.get_by_role("radio", name="lite").click()
    fill(page, "Epochs", "3")
    page.get_by_text("Advanced settings").click()
    fill(page, "Sequence length (bars)", "20")
    page.get_by_role("button", name="Start training").dblclick()
    page.wait_for_url(re.compile(r"\?run=\d{8}-\d{6}-[0-9a-f]{6}$"))
    run_id = page.url.rpartition("=")[2]

    expect(page.get_by_role("heading", name="Running now")).to_be_visible(timeout=RUN_MS)
    expect(page.get_by_text(re.compile(r"epoch \d of 3"))).to_be_visible(timeout=RUN_MS)
    wait_for_change(page, "loss", seen(page, "loss"))

    page.reload()
    second = browser.new_context(viewport={"width": 390, "height": 844})
    other = opened(second, page.url, complaints)
    for view in (page, other):
        expect(view.get_by_text(run_id).first).to_be_visible()

    for view in (page, other):
        expect(view.get_by_text(re.compile("balanced accuracy on .* test samples"))).to_be_visible(timeout=RUN_MS)
        expect(view.get_by_text("pivotline version 1")).to_be_visible()
    assert not complaints
    first.close()
    second.close()


def rows(page: Page, *chosen: int) -> None:
    """Ticks rows of the table of runs, whose cells are painted."""
    table = page.locator(".stDataFrame canvas").first
    table.wait_for(timeout=60_000)
    for row in chosen:
        table.click(position={"x": 17, "y": 35 + 33 * row + 16}, force=True)  # a scroller lies over it
        page.wait_for_timeout(1000)


def shows_run(page: Page, server: str, run_id: str) -> None:
    """The link opens the server's own page of the run, in a new tab."""
    with page.context.expect_page() as opening:
        page.get_by_role("link", name=f"Open in {server}").click()
    expect(opening.value.get_by_text(run_id).first).to_be_visible(timeout=120_000)
    opening.value.close()


def test_runs_are_compared_by_an_address_and_one_is_reproduced_bit_by_bit(browser: Browser, stack: Stack) -> None:
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 1600})
    page = opened(context, stack.address, complaints, "Overview")
    expect(page.get_by_text("version 1").or_(page.get_by_text("Version 1")).first).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Train", exact=True).click()
    page.wait_for_url(re.compile(r"\?run="))
    page.go_back()  # once
    expect(page.get_by_role("heading", name="Overview", exact=True)).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_text("Select up to 6 runs to compare them.")).to_be_visible()
    rows(page, 0)
    page.wait_for_url(re.compile(r"compare=\d{8}-\d{6}-[0-9a-f]{6}$"))
    page.reload()
    expect(page.get_by_role("heading", name="1 run compared")).to_be_visible()
    expect(page.get_by_text("What they said of the test samples")).to_be_visible()
    counts = page.get_by_role("table").filter(has_text="said hold").get_by_role("cell")
    expect(counts).to_have_count(1 + 9)  # the corner and three actions by three
    assert sum(int(count) for count in counts.all_inner_texts() if count) == 40
    page.get_by_text("epoch", exact=True).click()
    page.wait_for_url(re.compile("by=epoch"))
    run_id = page.url.partition("compare=")[2].partition("&")[0]
    for server in ("MLflow", "Prefect"):
        shows_run(page, server, run_id)

    page.get_by_role("button", name="Reproduce").click()
    expect(page.get_by_role("heading", name="2 runs compared")).to_be_visible()
    expect(page.get_by_text("equal weights")).to_be_visible(timeout=RUN_MS)
    expect(page.get_by_text("proves nothing new")).to_have_count(0)

    page.get_by_text("update", exact=True).click()  # with another choice in the address, Streamlit makes a step more
    page.wait_for_url(re.compile(r"/runs\?compare=[^&]*$"))
    page.get_by_role("link", name="Same again").click()
    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Epochs", exact=True)).to_have_value("3")
    page.wait_for_url(re.compile("run="))
    page.go_back()  # once
    expect(page.get_by_role("heading", name="2 runs compared")).to_be_visible()
    assert not complaints
    context.close()


def test_a_run_is_cancelled_after_a_question_with_proof_and_resumed(browser: Browser, address: str) -> None:
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 1600})
    page = opened(context, address, complaints)
    page.wait_for_url(re.compile(r"\?run="))  # of the run before
    page.get_by_role("radio", name="lite").click()
    page.get_by_text("Advanced settings").click()
    fill(page, "Sequence length (bars)", "20")
    fill(page, "Patience epochs", "500")  # so that the training ends by the cancel alone
    first = start(page, 500)
    expect(page.get_by_text(re.compile(r"epoch ([2-9]|\d\d) of 500"))).to_be_visible(timeout=RUN_MS)
    second = start(page, 400)
    cancel(page)
    expect(page.locator("p", has_text=second)).to_be_visible()

    page.goto(f"{address}?run={first}")
    cancel(page)
    expect(page.get_by_text(re.compile(r"asked \d\d:\d\d:\d\d.*stopped.*checkpoint \d+ verified"))).to_be_visible()
    page.get_by_role("button", name=re.compile("Resume from update")).click()
    expect(page.get_by_text("attempt 2")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("heading", name="Running now")).to_be_visible(timeout=RUN_MS)
    assert page.url.endswith(first)
    assert not complaints
    context.close()


def cancel(page: Page) -> None:
    page.get_by_role("button", name="Cancel run").click()
    page.wait_for_timeout(3000)  # the live part is drawn again meanwhile; the question must stay
    page.get_by_role("dialog").get_by_role("button", name="Cancel run").click()
    expect(page.locator(".stMarkdownBadge", has_text="cancelled")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_without_mlflow_the_page_names_it_and_runs_are_started(browser: Browser, stack: Stack) -> None:
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 1600})
    with page_without(stack, "mlflow") as address:
        page = opened(context, address, complaints, "Overview")
        expect(page.get_by_text(re.compile("^MLflow does not answer at"))).to_be_visible()
        expect(page.get_by_text("The registry cannot be read")).to_be_visible()
        page.goto(f"{address}train")
        page.wait_for_url(re.compile(r"\?run="))
        start(page, 7)
        expect(page.get_by_text("is queued in place")).to_be_visible()
        cancel(page)
    assert not complaints
    context.close()


def test_without_prefect_the_page_names_it_and_runs_are_compared(browser: Browser, stack: Stack) -> None:
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 1600})
    with page_without(stack, "prefect") as address:
        page = opened(context, f"{address}train", complaints)
        expect(page.get_by_text(re.compile("^Prefect does not answer at"))).to_be_visible()
        expect(page.get_by_role("button", name="Start training")).to_be_disabled()
        page.goto(f"{address}runs?states=done")
        expect(page.get_by_text("Select up to 6 runs to compare them.")).to_be_visible()
        rows(page, 0, 1)
        expect(page.get_by_role("heading", name="2 runs compared")).to_be_visible()
        expect(page.get_by_role("button", name="Reproduce")).to_be_disabled()
    assert not complaints
    context.close()


def start(page: Page, epochs: int) -> str:
    """Starts a run of so many epochs; returns its id."""
    fill(page, "Epochs", str(epochs))
    before = page.url
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url(lambda url: url != before)
    return page.url.rpartition("=")[2]


def test_hostile_text_in_the_address_runs_nothing(browser: Browser, address: str) -> None:
    complaints: list[str] = []
    context = browser.new_context()
    page = opened(context, f"{address}?run=<img src=x onerror=alert(1)>", complaints)
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    expect(page.get_by_text("<img src=x onerror=alert(1)>")).to_be_visible()
    page.wait_for_timeout(500)
    assert not complaints
    context.close()
