"""How far the live part of the page is behind the files of a training."""

import os
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser

ROOT = Path(__file__).parents[1]
FIRST = "20261129"  # the runs of the store are older


def lags_s(browser: Browser, address: str, state: Path, epochs: int) -> list[float]:
    """How long after an epoch's first row is in the file the page says that epoch, in a real training."""
    settings = f"model.kind=cnn train.epochs={epochs} train.patience_epochs={epochs} train.seed={time.time_ns() % 9999}"
    words = [word for setting in settings.split() for word in ("--set", setting)]
    run = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", *words],
        cwd=ROOT,
        env=os.environ | {"PIVOTLINE_STATE": str(state)},
        stdout=subprocess.DEVNULL,
    )
    written: dict[int, float] = {}
    shown: dict[int, float] = {}
    page = browser.new_page()
    while run.poll() is None:
        newest = max((state / "runs").iterdir(), default=None)
        curve = next(iter([*newest.glob("**/curves/train.csv")]), None) if newest and newest.name > FIRST else None
        if curve and newest:
            if newest.name not in page.url:
                page.goto(f"{address}train?run={newest.name}")
            rows = curve.read_text().splitlines()
            if len(rows) > 1:
                written.setdefault(int(rows[-1].split(",")[1]), time.monotonic())
            text = page.evaluate("() => document.body.innerText")
            at = text.find("epoch ")
            if at >= 0 and f" of {epochs}" in text[at : at + 20]:
                shown.setdefault(int(text[at + 6 :].split()[0]), time.monotonic())
        time.sleep(0.05)
    return [max(0.0, shown[epoch] - written[epoch]) for epoch in sorted(written)[2:] if epoch in shown]
