"""All benches, one after another: `python -m bench` writes `bench/results.json` and the table in the README.

A bench that fails ends the command with its name; the others' results are written all the same. Some take longer than
a quarter of an hour in all, or need a Docker engine: they are run by themselves, and their last results are kept.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from bench.claims import machine

FOLDER = Path(__file__).parent
README = FOLDER.parent / "README.md"
BENCHES = ("train_step", "memory", "batch_size", "checkpoint", "predict", "gpu")
BY_THEMSELVES = ("outage", "crash", "page", "stack")
MARKS = {name: (f"<!-- {name}: begin -->", f"<!-- {name}: end -->") for name in ("bench", "batch")}


def main() -> None:
    failed = [name for name in BENCHES if not ran(name)]
    gather()
    if failed:
        sys.exit(f"error: these benches failed: {', '.join(failed)}; the others are in bench/results.json")


def gather() -> None:
    """Writes the last results of all benches, those that run by themselves too, into one file and the README."""
    found = {
        name: json.loads(path.read_text("utf-8"))
        for name in (*BENCHES, *BY_THEMSELVES)
        if (path := FOLDER / f"{name}.json").exists()
    }
    results = {"machine": machine(), "benches": {name: entry["claims"] for name, entry in found.items()}}
    (FOLDER / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    text = with_table(README.read_text("utf-8"), "bench", table(results))
    if batches := found.get("batch_size"):
        text = with_table(text, "batch", batch_table(batches["details"]))
    README.write_text(text, encoding="utf-8")


def ran(name: str) -> bool:
    """Runs one bench in a process of its own, so that no cache or thread of another is in its numbers."""
    print(f"== {name}", flush=True)
    return subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=FOLDER.parent, check=False).returncode == 0


def table(results: dict[str, Any]) -> str:
    """The claims as a Markdown table under the machine's name."""
    here = results["machine"]
    head = f"Measured on {here['cpu']} ({here['capability']}, {here['threads']} threads), torch {here['torch']}."
    lines = [head, "", "| measured | value | goal | |", "|---|---|---|---|"]
    for name, claims in results["benches"].items():
        lines += [row(name, claim) for claim in claims if claim["goal"] or claim["value"] is None]
    return "\n".join(lines)


def row(name: str, claim: dict[str, Any]) -> str:
    value = "not measured" if claim["value"] is None else f"{claim['value']:.3g} {claim['unit']}".strip()
    why = f": {claim['note']}" if claim["note"] else ""
    met = {True: "met", False: f"missed{why}", None: claim["note"] if claim["value"] is None else ""}[claim["met"]]
    goal = claim["goal"].replace("<=", "≤").replace(">=", "≥")
    return f"| {claim['what']} (`bench/{name}.py`) | {value} | {goal} | {met} |"


def batch_table(details: dict[str, Any]) -> str:
    """What came of each batch size, as a Markdown table."""
    lines = [
        "| batch | updates | seconds an epoch | best validation loss | at epoch | peak, MiB |",
        "|---|---|---|---|---|---|",
    ]
    for found in details["rows"]:
        losses, peak = found["validation_losses"], found["peak_bytes"] / 2**20
        updates, seconds = found["updates_an_epoch"] * len(losses), median(found["seconds"])
        best = min(losses)
        lines.append(
            f"| {found['batch']} | {updates:,} | {seconds:.1f} | {best:.3f} | {losses.index(best) + 1} | {peak:.0f} |"
        )
    return "\n".join(lines)


def with_table(text: str, name: str, new: str) -> str:
    """The README with the table between the two marks of this name replaced."""
    begin, end = MARKS[name]
    before, _, rest = text.partition(begin)
    if begin not in text or end not in rest:
        raise ValueError(f"README.md has no place for the table: expected the lines {begin} and {end}")
    return f"{before}{begin}\n{new}\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    main()
