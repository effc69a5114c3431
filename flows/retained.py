"""Which checkpoints of a run stay: the best and the last, whole ones alone, in the order of their manifests."""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from flows.curves import read_curves
from flows.params import PruneConfig
from flows.verdict import Verdict, recent, verdict
from model.content import read_json
from model.manifest import MANIFEST, OPTIMIZER, STATE, contradiction, fault, read_manifest

NAME = re.compile(r"step-[0-9]{8,}(-[0-9]+)?")


def of_checkpoints(root: Path, run_id: str, policy: PruneConfig, used: str, state: str) -> Iterator[Verdict]:
    """Checkpoints in the order of their steps; what is kept as best or last is hash-clean, or it does not count."""
    steps = sorted(((step_of(path), path) for path in folders(root)), key=lambda entry: (entry[0], entry[1].name))
    newest = first(reversed(steps), policy.keep_last) if len(steps) > 1 else [path for _, path in steps]
    ranked = by_score(root.parent, steps)
    best = first(ranked, policy.keep_best) if len(steps) > 1 else []
    for step, path in steps:
        why = used or ("one of the last" if path in newest else "") or ("one of the best" if path in best else "")
        if not why and state == "resumable" and step > step_of(newest[0] if newest else path):
            why = "newer than the last good one, and the run can go on"
        if not why and not newest:
            why = "no checkpoint of the run is whole"
        if not why and recent(path) and fault(path):
            why = "not whole, and it may be in the making"
        if not why and (odd := doubt(path)):
            why = f"its place among the others is not known ({odd}): look at it, then delete it by hand"
        name = f"damaged checkpoint {path.name}" if step < 0 else f"checkpoint {step}"
        yield verdict(path, name, not why, why or "neither best nor last", run_id)
    if state == "done":  # last, since dropping it writes a manifest, and a full disk has room for that by then
        yield from of_optimizers(steps, run_id, [path for path in best if path not in newest])


def folders(root: Path) -> list[Path]:
    """Folders of checkpoints, whole or not; one with another name and no manifest is somebody's own."""
    found = [path for path in root.glob("step-*") if path.is_dir() and not path.is_symlink()]
    return [path for path in found if NAME.fullmatch(path.name) or (path / MANIFEST).exists()]


def of_optimizers(steps: list[tuple[int, Path]], run_id: str, paths: Collection[Path]) -> Iterator[Verdict]:
    """The optimiser states in checkpoints that stay as models alone."""
    for step, path in steps:
        if path in paths and (path / OPTIMIZER).is_file():
            name = f"optimiser state of checkpoint {step}"
            yield verdict(path / OPTIMIZER, name, True, "training does not go on", run_id)


def first(steps: Iterable[tuple[int, Path]], count: int) -> list[Path]:
    """The first `count` whole checkpoints; no more are read than needed."""
    found: list[Path] = []
    for _, path in steps:
        if len(found) == count:
            break
        if not fault(path):
            found.append(path)
    return found


def step_of(path: Path) -> int:
    """The step in the manifest, never that of the name; -1 for a damaged one."""
    with suppress(ValueError):
        return read_manifest(path).step
    return -1


def doubt(path: Path) -> str:
    """Why nobody can say how old a checkpoint is, which may be a good one; empty where it is known, or plain damage."""
    if not (path / MANIFEST).exists():
        return ""  # it was never whole
    try:
        manifest = read_manifest(path)
    except ValueError as error:
        return str(error)
    with suppress(ValueError):
        return contradiction(path, manifest)
    return ""


def by_score(workspace: Path, steps: list[tuple[int, Path]]) -> list[tuple[int, Path]]:
    """Checkpoints of judged epochs, best first: the higher balanced accuracy, among equals the lower action loss."""
    scores = {}
    for row in read_curves(workspace)["validation"]:
        if row.get("balanced_accuracy"):
            scores[int(row["step"])] = (float(row["balanced_accuracy"]), -float(row.get("action_loss") or 0))
    own = best_step(steps)
    judged = [entry for entry in steps if entry[0] in scores or entry[0] == own]
    return sorted(judged, key=lambda entry: (entry[0] == own, scores.get(entry[0], ())), reverse=True)


def best_step(steps: list[tuple[int, Path]]) -> int | None:
    """The step that the training itself holds for its best, by whatever its kind of network is judged by."""
    for _, path in reversed(steps):
        with suppress(ValueError, KeyError, TypeError):
            return read_json(path / STATE)["progress"]["best_step"]
    return None
