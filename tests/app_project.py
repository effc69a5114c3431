"""Maker of what the page's views stand on: a small real dataset, settings that fit it, and nothing of the session's."""

import json
import shutil
from pathlib import Path

import pytest
from checkout import ROOT
from data_root import write_root
from streamlit.testing.v1 import AppTest

from app import asking, backend, champion, dataset_reader, pruning, registered, registry_reader
from dataset.candles import Candles
from flows.params import Params, change, write_params

CACHED = (
    asking.predict,
    asking.told,
    backend.all_runs,
    backend.datasets,
    backend.disk,
    backend.runs,
    backend.services,
    dataset_reader.library,
    pruning.plan,
    registry_reader.registry,
)


def small_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Candles:
    """A project in a folder, which the views take for theirs; the candles of its primary stream."""
    shutil.copy2(ROOT / "dvc.yaml", folder / "dvc.yaml")
    write_params(folder / "params.yaml", change(Params(), {"preprocess": {"seq_len": 20}}))
    monkeypatch.setenv("PIVOTLINE_PROJECT", str(folder))
    monkeypatch.setenv("PIVOTLINE_STATE", str(folder / "state"))
    monkeypatch.setattr(champion, "SHELF", registered.Shelf())
    for cached in CACHED:
        cached.clear()
    return write_root(folder / "data")


def view(name: str, **address: str) -> AppTest:
    """A view, opened at an address by itself."""
    page = AppTest.from_file(ROOT / "app" / "views" / f"{name}.py", default_timeout=60)
    for key, value in address.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception
    return page


def said(page: AppTest) -> str:
    """Everything of a view that is read as Markdown, and the cells of its tables."""
    kinds = (page.markdown, page.caption, page.info, page.error, page.warning, page.subheader)
    tables = [json.dumps(table.value.to_dict(), default=str, ensure_ascii=False) for table in page.table]
    return "\n".join([entry.value for kind in kinds for entry in kind] + tables)
