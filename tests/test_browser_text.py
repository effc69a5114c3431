"""Text that people wrote is shown as they wrote it, in Chromium, wherever Streamlit reads Markdown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOT
from hostile import TEXTS
from playwright.sync_api import Browser, expect

from app.format import JOINER
from bench.browser import CHROMIUM, chromium
from bench.serving import serving

SCRIPT = """
import sys

import streamlit as st

sys.path[:0] = {path!r}
from app import text_table
from app.format import plain, spoken

for place, text in enumerate({texts!r}):
    with st.container(key=f"text{{place}}"):
        st.markdown(plain(text))
        st.caption(plain(text))
        st.table({{plain("name"): [plain(text)]}})
        st.info(spoken(text))
        text_table.draw([text], {{text: [text]}}, f"table{{place}}")
"""
SIGNS = (
    ":streamlit: :material/home: :+1:",
    "a -- b -> c <- d <-> e >= f <= g ~= h",
    "www.example.invalid a@example.invalid",
)
TOLD = (*TEXTS, *SIGNS, "10:00:05, 14:10 UTC", "C:\\new")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"there is no Chromium at {CHROMIUM}"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def test_foreign_text_is_shown_as_it_is(browser: Browser) -> None:
    with serving(SCRIPT.format(path=[str(ROOT)], texts=TOLD)) as address:
        page = browser.new_page()
        page.goto(address)
        expect(page.locator(".stTable")).to_have_count(len(TOLD), timeout=60_000)
        for place, text in enumerate(TOLD):
            box = page.locator(f".st-key-text{place}")
            for kind in ("stMarkdown", "stCaptionContainer", "stTable", "stAlert"):
                assert words(text) in words(box.get_by_test_id(kind).first.inner_text()), (kind, text)
            cells = box.get_by_test_id("stBidiComponentIsolated").locator("thead th:last-child, tbody th, tbody td")
            assert [words(cell) for cell in cells.all_inner_texts()] == [words(text)] * 3, text
            assert box.locator("a, img, svg, code, b, strong, em, del, .katex, [role=img]").count() == 0, text


def words(text: str) -> str:
    """What can be seen of a text, in one line."""
    return " ".join("".join(char if char.isprintable() else " " for char in text.replace(JOINER, "")).split())
