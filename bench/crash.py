"""Random SIGKILLs over the stages of runs, each resumed: do all runs end with the bits of one that was never disturbed?

After each kill and each end the doctor is asked whether every promise holds.

    python -m bench.crash --kills 200 --out bench/crash.json

Half of the kills of the train stage come at its file call N = 1, 2, 3 …, all others after a random time. With
`--seconds` it stops early.
"""

import argparse
import csv
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.claims import finish
from bench.forked import CONTEXT, Stage
from bench.tally import STAGES, Tally, claims, table
from flows import doctor, runfile, sync, tracking
from flows.checks.finding import BROKEN
from flows.params import Params, as_dict, change, write_params
from flows.project import Project
from flows.reaper import reap
from flows.registry import find_version
from model.content import sha256

ROOT = Path(__file__).parents[1]
PASSES = {"preprocess": 0.1, "train": 0.05, "evaluate": 0.1, "registering": 0.15}  # chance of an undisturbed attempt
SETTINGS = {
    "preprocess": {"seq_len": 12, "holds_per_trade": 1, "no_trades_per_trade": 0},
    "model": {"preset": "lite"},
    "train": {"epochs": 3, "batch_size": 16, "device": "cpu", "threads": 1, "patience_epochs": 100}
    | {"checkpoint_every_updates": 3},
}


def prepare(folder: Path) -> Project:
    """A project without data and DVC, in which the workspaces of the runs are."""
    write_params(folder / "params.yaml", change(Params(), SETTINGS))
    return Project(root=folder, state=folder / "state")


def make(project: Project, number: int) -> Path:
    """A workspace as `pivotline run` freezes it, without DVC."""
    run_id = f"20260101-000000-{number:06x}"
    workspace = project.workspace(run_id)
    (workspace / "artifacts").mkdir(parents=True)
    for name in ("data", "dataset", "model"):
        (workspace / name).symlink_to(ROOT / name)
    params = change(Params(), SETTINGS)
    write_params(workspace / "params.yaml", params)
    stages: dict[str, Any] = {name: {"state": "waiting"} for name in STAGES}
    plain = {"run_id": run_id, "state": "running", "created_at": runfile.now(), "dataset_version": "sample"}
    started = {"started_ms": int(1000 * time.time()), "params": as_dict(params), "stages": stages}
    runfile.write(workspace, plain | started)
    return workspace


def bits(workspace: Path) -> dict[str, Any]:
    """What must be the same: every output, the curves without their times."""
    names = ("samples.npz", "scaler.json", "model/weights.safetensors", "evaluation.json", "predictions.csv")
    found: dict[str, Any] = {name: sha256(workspace / "artifacts" / name) for name in names}
    for split in ("train", "validation"):
        with (workspace / "artifacts" / "curves" / f"{split}.csv").open(encoding="utf-8") as file:
            found[split] = [{**row, "elapsed_s": ""} for row in csv.DictReader(file)]
    return found


def clean(project: Project) -> tuple[dict[str, Any], dict[str, float]]:
    """The bits of an undisturbed run, and how long each of its stages took."""
    workspace, took_s = make(project, 0), {}
    first = CONTEXT.Process(target=int)  # the process that all stages are forked from imports them now
    first.start()
    first.join()
    for name in STAGES:
        started = time.monotonic()
        stage = Stage(workspace, name, state=project.state)
        assert stage.wait() == 0, stage.said()
        took_s[name] = time.monotonic() - started
    conclude(project, workspace)
    return bits(workspace), took_s


def live(project: Project, workspace: Path, tally: Tally, took_s: dict[str, float], draw: random.Random) -> None:
    """One run from its start to its end, killed on the way as often as it is drawn."""
    for name in STAGES:
        attempts, done = 0, False
        while not done:
            runfile.update(workspace, state="running")
            done = attempt(project, workspace, name, tally, took_s[name], draw, attempts > 0)
            attempts += 1
            if not done:
                reap(project, lambda line: None)
                examine(project, workspace, tally, f"after kill {attempts} of {name}")
    conclude(project, workspace)
    examine(project, workspace, tally, "at its end")


def conclude(project: Project, workspace: Path) -> None:
    """What `pivotline run` does at its end, and the record in MLflow."""
    weights = sha256(workspace / "artifacts" / "model" / "weights.safetensors")
    result = {"weights_sha256": weights, "registered": None, "recorded": False}
    runfile.update(workspace, state="done", ended_at=runfile.now(), result=result, recorded=False)
    sync.sync(project, lambda line: None)


def examine(project: Project, workspace: Path, tally: Tally, when: str) -> None:
    """Asks the doctor, and notes what it finds broken."""
    tally.examined += 1
    broken = [found.text for found in doctor.examine(project).findings if found.level == BROKEN]
    tally.wrong += [f"{workspace.name} {when}: {text}" for text in broken]


def attempt(
    project: Project, workspace: Path, name: str, tally: Tally, took_s: float, draw: random.Random, resume: bool
) -> bool:
    """One attempt of a stage; whether it came to its end."""
    undisturbed, at_call = draw.random() < PASSES[name], name == "train" and draw.random() < 0.5
    call = 1 + len(tally.calls) % 40
    fault = f"kill:{call}" if at_call and not undisturbed else ""
    stage = Stage(workspace, name, resume=resume, fault=fault, state=project.state)
    if not undisturbed and not at_call:
        stage.process.join(draw.uniform(0, 0.6 * took_s))
        stage.process.kill()
    code = stage.wait()
    if code == 0:
        return True
    assert code == -9, f"{name} ended with status {code}: {stage.said()}"
    tally.kills[name] += 1
    if at_call:
        tally.calls.append(call)
    return False


def judge(project: Project, workspace: Path, wanted: dict[str, Any], tally: Tally) -> None:
    """Compares a finished run with the clean one, and counts its versions."""
    tally.lives += 1
    found = bits(workspace)
    differing = [name for name in wanted if found[name] != wanted[name]]
    client = tracking.client(project)
    versions = client.search_model_versions("name = 'pivotline'")
    mine = [entry for entry in versions if entry.tags.get(tracking.RUN_TAG) == workspace.name]
    if len(mine) != 1:
        differing.append(f"{len(mine)} versions")
    if find_version(client, "pivotline", workspace.name) is None:
        differing.append("no version")
    tally.equal += not differing
    tally.wrong += [f"{workspace.name}: {', '.join(differing)}"] if differing else []


def crash(kills: int, seconds: float, seed: int) -> Tally:
    """Kills until there were so many, or until the time is up and the run at hand has ended."""
    tally, draw, deadline = Tally(), random.Random(seed), time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="pivotline-crash-") as folder:
        project = prepare(Path(folder))
        wanted, took_s = clean(project)
        while tally.killed < kills and time.monotonic() < deadline:
            workspace = make(project, tally.lives + 1)
            live(project, workspace, tally, took_s, draw)
            judge(project, workspace, wanted, tally)
            shutil.rmtree(workspace)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bench/crash.json"))
    given = parser.parse_args()
    tally = crash(given.kills, given.seconds, given.seed)
    print("\n".join(table(tally)))
    finish(given.out, claims(tally), vars(tally))


if __name__ == "__main__":
    main()
