"""Run control for the page and the command line: its parts under one name.

Reading works with any service down.
"""

from flows import datasets as versions_of_data
from flows import health
from flows.datasets import DatasetView, newer_data
from flows.doctor import Finding, Report, doctor
from flows.following import curves, log_tail, memory, run, runs
from flows.health import REMEDY, Service
from flows.imports import Imported, Upload, Wanted, bring_in, put_in_use
from flows.judgement import Judged, Judgement, judgement
from flows.library import LibraryEntry, folder, library, use
from flows.models import VersionView, earlier_champion, model_folder, promote, roll_back, versions
from flows.orders import Accepted, cancel, new_key, resume, retry, trigger
from flows.prediction import NextCandle, NextPivot, Prediction, predict
from flows.project import find_project
from flows.upkeep import Disk, Pruned, PruneItem, PrunePlan, disk, hold, prune, prune_plan
from flows.workers import worker_service

__all__ = [
    "REMEDY",
    "Accepted",
    "DatasetView",
    "Disk",
    "Finding",
    "Imported",
    "Judged",
    "Judgement",
    "LibraryEntry",
    "NextCandle",
    "NextPivot",
    "Prediction",
    "PruneItem",
    "PrunePlan",
    "Pruned",
    "Report",
    "Service",
    "Upload",
    "VersionView",
    "Wanted",
    "bring_in",
    "cancel",
    "curves",
    "datasets",
    "disk",
    "doctor",
    "earlier_champion",
    "find_project",
    "folder",
    "hold",
    "judgement",
    "library",
    "log_tail",
    "memory",
    "model_folder",
    "new_key",
    "newer_data",
    "predict",
    "promote",
    "prune",
    "prune_plan",
    "put_in_use",
    "resume",
    "retry",
    "roll_back",
    "run",
    "runs",
    "services",
    "trigger",
    "use",
    "versions",
]


def services() -> list[Service]:
    """Every server this process was told of, and the worker, asked for their health within a second or so."""
    return [*health.services(), worker_service(find_project())]


def datasets() -> list[DatasetView]:
    """The dataset version in `data/` first, then those that earlier runs used."""
    return versions_of_data.datasets(find_project())
