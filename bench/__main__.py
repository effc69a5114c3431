"""All benches, one after another: `python -m bench` writes `bench/results.json` and the table in the README.

A bench that fails ends the command with its name; the others' results are written all the same. Three take longer than
a quarter of an hour in all, or need a Docker engine: they are run by themselves, and their last results are kept.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.claims import machine

FOLDER = Path(__file__).parent
README = FOLDER.parent / "README.md"
BENCHES = ("train_step", "memory", "batch_size", "checkpoint", "predict", "gpu")
BY_THEMSELVES = ("crash", "page", "stack")
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


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
    README.write_text(with_table(README.read_text("utf-8"), table(results)), encoding="utf-8")


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
    met = {True: "met", False: "missed", None: claim["note"] if claim["value"] is None else ""}[claim["met"]]
    goal = claim["goal"].replace("<=", "≤").replace(">=", "≥")
    return f"| {claim['what']} (`bench/{name}.py`) | {value} | {goal} | {met} |"


def with_table(text: str, new: str) -> str:
    """The README with the table between its two marks replaced."""
    before, _, rest = text.partition(BEGIN)
    if BEGIN not in text or END not in rest:
        raise ValueError(f"README.md has no place for the table: expected the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{new}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    main()
