"""The container stack: image sizes, cold start, idle memory, and the wait from the click to a run's first update.

`python -m bench.stack` starts a stack of its own from a fresh clone, prints each number and writes `bench/stack.json`.
Memory is the proportional set size of all processes, which counts a shared page once; reading it needs root.
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path
from secrets import token_hex
from typing import Any

import docker

from bench.claims import Claim, finish

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "stack"))  # a stack of its own, made as the tests make theirs

from browsing import choose, log_in, start, train_page  # noqa: E402
from containers import SERVERS, Stack, clone  # noqa: E402

OUT = Path(__file__).with_suffix(".json")
SETTLED_S = 60  # idle is what is left a minute after the start
FIRST_UPDATE = (
    'until [ "$(cat $(find /state/runs/$0 -name train.csv) 2>/dev/null | wc -l)" -gt 1 ]; do sleep 0.05; done'
)


def image_bytes(stack: Stack) -> dict[str, dict[str, int]]:
    """Each image with what it adds to its base."""
    found = {}
    base = stack.settings["PYTHON_IMAGE"]
    for service in ("app", "gate", "postgres"):
        name = stack.container(service).attrs["Config"]["Image"]
        size = stack.engine.images.get(name).attrs["Size"]
        own = size - stack.engine.images.get(base).attrs["Size"] if name.startswith("pivotline") else size
        found[name] = {"bytes": size, "own_bytes": own}
    return found


def idle_bytes(stack: Stack, service: str) -> int:
    """Proportional set size of a service's processes."""
    top = stack.container(service).top(ps_args="-o pid")["Processes"]
    text = "".join(Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8") for (pid,) in top)
    return 1024 * sum(map(int, re.findall(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)))


def first_update_s(stack: Stack) -> dict[str, float]:
    """Seconds from the click on the page to the queue's answer, and to the first update of the training."""
    with train_page(stack) as page:
        log_in(page, stack)
        choose(page, epochs=1000, seq_len=24)
        clicked = time.monotonic()
        run_id = start(page)
        accepted = time.monotonic() - clicked
        stack.inside("worker", "sh", "-c", FIRST_UPDATE, run_id)
        trained = time.monotonic() - clicked
    stack.pivotline("cancel", run_id)
    return {"click to queue": accepted, "click to first update": trained}


def measure(stack: Stack) -> dict[str, Any]:
    """All of it, from no volume to a run."""
    started = time.monotonic()
    stack.compose("build", timeout_s=1800)
    built = time.monotonic() - started
    cold = stack.up()
    images = image_bytes(stack)
    time.sleep(SETTLED_S)
    idle = {service: idle_bytes(stack, service) for service in SERVERS}
    waits = first_update_s(stack)
    stack.compose("down")
    seconds = {"build": built, "cold start": cold, "start again": stack.up(), **waits}
    return {"images": images, "seconds": seconds, "idle_bytes": idle, "load": os.getloadavg()[0]}


def claims(found: dict[str, Any]) -> list[Claim]:
    sizes = [
        Claim(what=f"image {name}, beyond its base", value=entry["own_bytes"] / 1e6, unit="MB", goal="")
        for name, entry in found["images"].items()
    ]
    goals, load = {"cold start": "<= 30"}, f"load average {found['load']:.1f}"
    waits = [
        Claim(what=f"stack: {name}", value=value, unit="s", goal=goals.get(name, ""), note=load)
        for name, value in found["seconds"].items()
    ]
    idle = sum(found["idle_bytes"].values()) / 1e6
    return [*sizes, *waits, Claim(what="stack: idle memory of all services", value=idle, unit="MB", goal="<= 1000")]


def main() -> None:
    engine = docker.from_env(timeout=120)
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(engine, clone(Path(folder) / "pivotline"), f"pivotline-bench-{token_hex(3)}")
        stack.make_secrets()
        try:
            found = measure(stack)
        finally:
            stack.remove()
    engine.close()
    finish(OUT, claims(found), found)


if __name__ == "__main__":
    main()
