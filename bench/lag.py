"""How far the live part of the page is behind the files of a training."""

import os
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser

ROOT = Path(__file__).parents[1]
LEFT_OUT = 2  # the first epochs pass while the page is being opened
# What the page says of the epoch; null where it says nothing yet.
EPOCH = "() => (document.body.innerText.match(/epoch (\\d+) of (\\d+)/) || [null, null])[1]"


def lags_s(browser: Browser, address: str, state: Path, epochs: int) -> list[float]:
    """How long after an epoch's first row is in the file the page says that epoch or a later one, in a real training.

    Raises RuntimeError when the training failed.
    """
    before = set((state / "runs").iterdir())
    written: dict[int, float] = {}
    shown: dict[int, float] = {}
    page = browser.new_page()
    with training(state, epochs) as run:
        while run.poll() is None:
            for folder in set((state / "runs").iterdir()) - before:
                if folder.name not in page.url and (folder / "run.json").exists():
                    page.goto(f"{address}train?run={folder.name}")
                if epoch := newest(folder / "journal" / "train.csv"):
                    written.setdefault(epoch, time.monotonic())
            said = page.evaluate(EPOCH)
            for epoch in range(1, int(said or 0) + 1):
                shown.setdefault(epoch, time.monotonic())
            time.sleep(0.05)
    page.close()
    if run.returncode:
        raise RuntimeError(f"the training that was to be followed ended with status {run.returncode}")
    return [max(0.0, shown[epoch] - written[epoch]) for epoch in sorted(written)[LEFT_OUT:] if epoch in shown]


def training(state: Path, epochs: int) -> "subprocess.Popen[bytes]":
    """A real one on the sample dataset, of settings that no run cache knows."""
    values = {
        "model.kind": "cnn",
        "model.preset": "lite",
        "train.epochs": epochs,
        "train.patience_epochs": epochs,
        "train.batch_size": 20,
        "train.seed": time.time_ns() % 9999,
    }
    words = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", *words],
        cwd=ROOT,
        env=os.environ | {"PIVOTLINE_STATE": str(state)},
        stdout=subprocess.DEVNULL,
    )


def newest(curve: Path) -> int | None:
    """The epoch of the last row that is wholly written."""
    rows = curve.read_text(encoding="utf-8").split("\n")[1:-1] if curve.exists() else []
    return int(rows[-1].split(",")[1]) if rows else None
