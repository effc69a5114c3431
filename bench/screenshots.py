"""Pictures of every view of a running page, light and dark at 1280 and on a phone, into docs/.

`python -m bench.screenshots http://127.0.0.1:8501` wants a running stack (`make up`) with a few runs, since an empty
page shows little.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser, Page

from bench.browser import chromium, open_whole, wait_whole
from flows import control

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = "http://127.0.0.1:8501"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SIZES: Mapping[str, tuple[str, dict[str, int]]] = {
    "dark": ("dark", WIDE),
    "light": ("light", WIDE),
    "phone": ("dark", PHONE),
}
HIGHEST = 1700  # a longer page is cut


def addresses(base: str) -> dict[str, str]:
    """A view's name and where it shows most: runs compared, a run with its result."""
    done = [view for view in control.runs() if view.state == "done"]
    alike = [view.run_id for view in done if view.params["model"]["kind"] == done[0].params["model"]["kind"]]
    asked = {"runs": f"?compare={','.join(alike[:3])}", "train": f"?run={alike[0]}" if alike else ""}
    names = sorted(path.stem for path in (ROOT / "app" / "views").glob("[a-z]*.py"))
    return {name: base if name == "overview" else f"{base.rstrip('/')}/{name}{asked.get(name, '')}" for name in names}


def whole_height(page: Page) -> int:
    return int(page.evaluate("() => document.querySelector('.stMain').scrollHeight"))


def shoot(browser: Browser, name: str, address: str, size: str) -> Path:
    scheme, viewport = SIZES[size]
    page = open_whole(browser, address, viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
    height = min(HIGHEST, max(viewport["height"], whole_height(page)))
    page.set_viewport_size({"width": viewport["width"], "height": height})
    wait_whole(page)
    path = DOCS / f"{name}-{size}.png"
    page.screenshot(path=path)
    page.context.close()
    return path


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else PAGE
    wanted = sys.argv[2:]
    with chromium() as browser:
        for name, address in addresses(base).items():
            for size in SIZES if not wanted or name in wanted else ():
                print(shoot(browser, name, address, size).relative_to(ROOT), flush=True)


if __name__ == "__main__":
    main()
