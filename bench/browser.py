"""Chromium as the benches drive it: headless, without anything that calls home, and a page that is wholly there."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
# A script that runs, a place that is kept for what is worked out, and a component whose code is on its way.
BUSY = "[data-testid=stStatusWidget], [data-testid=stSkeleton], [data-testid=stSkeletonElement], [data-stale=true]"
BROKEN = "[data-testid=stException]"  # what a module that did not arrive leaves behind, too
LATER = "to be worked out"  # what the page says of plans that it will draw once they are there
SETTLE_MS = 1500  # charts are drawn after their element is there
TRIES = 8


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        yield found
        found.close()


def wait_whole(page: Page, timeout_ms: int = 120_000) -> None:
    """Until a title is there and nothing on the page is being worked out."""
    page.wait_for_selector("h1", timeout=timeout_ms)
    whole = f"() => !document.querySelector('{BUSY}') && !document.body.innerText.includes('{LATER}')"
    for _ in range(2):
        page.wait_for_function(whole, timeout=timeout_ms)
        page.wait_for_timeout(SETTLE_MS)


def open_whole(browser: Browser, address: str, **options: object) -> Page:
    """The page in a context of its own. A network that changes meanwhile breaks a load, which is then done again."""
    for _ in range(TRIES):
        page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
        try:
            page.goto(address)
            wait_whole(page)
            if not page.locator(BROKEN).count():
                return page
        except Error:
            print(f"{address} is loaded again", flush=True)
        page.context.close()
    raise RuntimeError(f"{address} could not be loaded in {TRIES} tries")
