"""Files that somebody sent, checked as a dataset in a folder of their own; `data/` gives way to it only when asked."""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataset.annotations import read_annotations
from dataset.importers.content import check_content, kind_of
from dataset.schema import read_info, symbol_dir
from dataset.versions import version
from flows import disk
from flows.library import beside, folder, replace_data
from flows.project import Project, find_project

IMPORT_ID = re.compile(r"[0-9a-f]{16}")
MOST_S = 300.0
MEMORY_BYTES = 4 << 30  # of addresses for the importing process, a good part of which its libraries take
KEPT_S = 24 * 3600.0  # an import that nobody put into data/ is removed a day later
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS"), "1")


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A file that was sent: its name is shown and never used as a path."""

    label: str
    content: bytes
    symbol: str = ""  # of candles
    timeframe: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What the files are to become. `candles_of` takes the candles and books of a version instead of files."""

    name: str
    primary: str = ""
    reference: str = ""
    timeframes: tuple[str, ...] = ()
    candles_of: str | None = None
    skip_rejected: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """A dataset that is ready to be put into `data/`."""

    import_id: str
    version: str
    report: dict[str, Any]


def bring_in(annotations: Upload, candles: Sequence[Upload], wanted: Wanted) -> Imported:
    """Checks the files and makes a dataset of them under `state/imports`; `data/` is not touched.

    Raises ValueError with every finding, the first of them first, and leaves nothing behind then.
    """
    project, import_id = find_project(), secrets.token_hex(8)
    place = project.state / "imports" / import_id
    labels = {}
    for upload in (annotations, *candles):
        check_content(upload.label, upload.content)
    remove_old(place.parent)
    (place / "in").mkdir(parents=True)
    try:
        paths = []
        for number, upload in enumerate((annotations, *candles), start=1):
            paths.append(place / "in" / f"file-{number}{kind_of(upload.label)}")
            paths[-1].write_bytes(upload.content)
            labels[paths[-1].name] = upload.label
        report = carry_out(project, order(place, paths, candles, wanted), labels)
        return Imported(import_id=import_id, version=version(place / "data"), report=report)
    except BaseException:  # also a signal leaves no half import
        shutil.rmtree(place, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(place / "in", ignore_errors=True)


def order(place: Path, paths: list[Path], candles: Sequence[Upload], wanted: Wanted) -> dict[str, Any]:
    """What the importing process is told."""
    given = {
        "target": str(place / "data"),
        "annotations": str(paths[0]),
        "name": wanted.name,
        "skip_rejected": wanted.skip_rejected,
    }
    if wanted.candles_of is None:
        sources = [
            {"symbol": upload.symbol, "timeframe": upload.timeframe, "path": str(path)}
            for upload, path in zip(candles, paths[1:], strict=True)
        ]
        meant = {"primary": wanted.primary, "reference": wanted.reference, "timeframes": list(wanted.timeframes)}
        return given | meant | {"candles": sources, "book": None, "simulated": False}
    root = folder(wanted.candles_of)
    info = read_info(root)
    symbols = {info.primary, info.reference, *(trade.symbol for trade in read_annotations(root)[0])}
    names = {symbol_dir(symbol): symbol for symbol in symbols}
    return given | {
        "primary": info.primary,
        "reference": info.reference,
        "timeframes": list(info.timeframes),
        "reference_timeframe": info.reference_timeframe,
        "simulated": info.simulated,
        "book": str(root / "book"),
        "candles": [
            {"symbol": names.get(path.parent.name, path.parent.name), "timeframe": path.stem, "path": str(path)}
            for path in sorted(root.glob("candles/*/*.parquet"))
        ],
    }


def carry_out(project: Project, given: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """Imports in a process of its own, which a file that unpacks to too much ends instead of us."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "flows.intake"],
            cwd=project.root,
            env=os.environ | ONE_THREAD,
            input=json.dumps(given | {"memory_bytes": MEMORY_BYTES}),
            capture_output=True,
            text=True,
            timeout=MOST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"the files took longer than {MOST_S:.0f} s to read; give fewer or smaller ones") from None
    if done.returncode < 0:  # ended by the system
        what = "computing time" if -done.returncode == signal.SIGXCPU else "memory"
        raise ValueError(f"the files need more {what} than an import may take; give fewer or smaller ones")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise ValueError(f"the files could not be read: {last}")
    said = done.stdout
    for name, label in labels.items():
        said = said.replace(name, json.dumps(label)[1:-1])
    report: dict[str, Any] = json.loads(said)
    if "error" in report:
        raise ValueError(report["error"])
    return report


def put_in_use(import_id: str) -> str:
    """Puts a checked import into `data/`; returns the version that left it, which stays in the cache.

    Raises ValueError if the import is not there any more.
    """
    project = find_project()
    place = project.state / "imports" / import_id
    if not IMPORT_ID.fullmatch(import_id) or not (place / "data").is_dir():
        raise ValueError("this import is not here any more; check the files again")
    with beside(project) as staged:
        shutil.copytree(place / "data", staged / "data")
        left = replace_data(project, staged)
    shutil.rmtree(place, ignore_errors=True)
    return left


def remove_old(imports: Path) -> None:
    for place in imports.glob("*"):
        if not IMPORT_ID.fullmatch(place.name) or not disk.real_folder(imports.parent, place):
            continue
        if time.time() - place.stat().st_mtime > KEPT_S:
            shutil.rmtree(place, ignore_errors=True)
