"""The stack's page in Chromium, as a person drives it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from containers import Stack, wait_for
from playwright.sync_api import Page, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
WAIT_MS = 120_000
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@contextmanager
def train_page(stack: Stack) -> Iterator[Page]:
    """The view Train, before the password was asked for."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=QUIET.split())
        page = browser.new_page(viewport={"width": 1280, "height": 1600})
        page.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)
        page.goto(f"{stack.address('page')}/train")
        yield page
        browser.close()


def give(page: Page, password: str) -> None:
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Log in").click()


def log_in(page: Page, stack: Stack) -> None:
    """With the right password to the view that was asked for; the browser remembers it, so a reload asks for none."""
    give(page, stack.settings["APP_PASSWORD"])
    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()
    wait_for("the cookie", 120, lambda: any(entry["name"] == "pivotline_login" for entry in page.context.cookies()))
    page.reload()
    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()


def choose(page: Page, epochs: int, seq_len: int) -> None:
    """A small network."""
    page.get_by_role("radio", name="lite").click()
    fill(page, "Epochs", epochs)
    page.get_by_text("Advanced settings").click()
    fill(page, "Sequence length (bars)", seq_len)


def fill(page: Page, label: str, value: int) -> None:
    field = page.get_by_role("spinbutton", name=label, exact=True)
    field.fill(str(value))
    field.press("Tab")
    expect(field).to_have_value(str(value))


def start(page: Page) -> str:
    """Presses the button; the run's id as the page's address names it."""
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url(re.compile(r"\?run=\d{8}-\d{6}-[0-9a-f]{6}$"))
    return page.url.rpartition("=")[2]
