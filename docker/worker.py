"""The worker: loads what it needs while the stack is still starting, and serves as soon as Prefect answers.

A container that was killed leaves DVC's lock files with process numbers that mean others now: those that no running
command can hold (older than a minute, and no run goes on while its worker starts) are removed.
"""

import os
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import flows.pipeline  # noqa: F401 - most of the worker's start, done while it would wait
from flows import cli

STALE_S = 60.0
POLL_S = 0.5


def remove_stale_locks(runs: Path) -> None:
    for lock in runs.glob("*/.dvc/tmp/rwlock*"):
        if time.time() - lock.stat().st_mtime > STALE_S:
            lock.unlink()


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def main() -> None:
    remove_stale_locks(Path(os.environ["PIVOTLINE_STATE"]) / "runs")
    while not answers(f"{os.environ['PREFECT_API_URL']}/ready"):  # its health is good without its database, too
        time.sleep(POLL_S)
    sys.argv = ["pivotline", "serve"]
    cli.main()


if __name__ == "__main__":
    main()
