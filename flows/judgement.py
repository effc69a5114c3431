"""How a run's model did on its test split, answer by answer: what the evaluate stage wrote, read back."""

import csv
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataset.annotations import by_entry, read_annotations
from flows.library import folder
from flows.project import find_project
from flows.reports import read_report
from flows.runfile import check_run_id, read
from model.losses import ACTIONS
from model.reliability import Bin, losses, reliability


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One test sample: when it was decided, what was right and what was said, and how wrong that was."""

    time: int  # seconds since 1970
    symbol: str
    annotation_id: str
    actual: str
    predicted: str
    probabilities: dict[str, float]
    loss: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """The test split of one run, the worst answer first."""

    rows: tuple[Judged, ...]
    actions: tuple[str, ...]
    confusion: list[list[int]]  # rows are what was right
    reliability: tuple[Bin, ...]


def judgement(run_id: str) -> Judgement:
    """What a run's model answered on the samples it never saw.

    Raises ValueError when the run or its predictions are not here any more.
    """
    workspace = find_project().workspace(check_run_id(run_id))
    record = read(workspace)
    path = workspace / "artifacts" / "predictions.csv"
    if record is None or not path.is_file():
        raise ValueError(f"run {run_id}: its test predictions are not here any more")
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    names = trades(record["dataset_version"])
    shares = np.array([[float(line[f"p_{action}"]) for action in ACTIONS] for line in lines]).reshape(-1, len(ACTIONS))
    actual = np.array([ACTIONS.index(line["actual"]) for line in lines], np.int64)
    predicted = np.array([ACTIONS.index(line["predicted"]) for line in lines], np.int64)
    lost = losses(shares, actual)
    rows = [judged(line, names, share, float(loss)) for line, share, loss in zip(lines, shares, lost, strict=True)]
    table = read_report(workspace / "artifacts" / "evaluation.json")["confusion"]
    return Judgement(
        rows=tuple(sorted(rows, key=lambda row: -row.loss)),
        actions=tuple(ACTIONS),
        confusion=table,
        reliability=tuple(reliability(shares[np.arange(len(lines)), predicted], actual == predicted)),
    )


def judged(line: dict[str, Any], names: list[tuple[str, str]], share: np.ndarray, loss: float) -> Judged:
    symbol, annotation_id = names[int(line["trade"])]
    return Judged(
        time=int(line["decision_time"]),
        symbol=symbol,
        annotation_id=annotation_id,
        actual=line["actual"],
        predicted=line["predicted"],
        probabilities={action: float(value) for action, value in zip(ACTIONS, share, strict=True)},
        loss=loss,
    )


def trades(dataset_version: str) -> list[tuple[str, str]]:
    """(symbol, annotation) of each trade by its number."""
    found, _ = read_annotations(folder(dataset_version))
    return [(trade.symbol, trade.annotation_id) for trade in by_entry(found)]
