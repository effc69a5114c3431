"""Where a run is found in the pages of MLflow and Prefect, as a browser reaches them."""

import os
from urllib.parse import urlsplit

from app import backend
from flows.runview import RunView

# Inside a container a server has another address than in a browser, so the latter can be told.
TOLD = {"MLflow": "PIVOTLINE_MLFLOW_LINK", "Prefect": "PIVOTLINE_PREFECT_LINK"}


def of(view: RunView) -> dict[str, str]:
    """A link by the server's name, for each server that a browser can reach and that knows the run."""
    mlflow, prefect = base("MLflow"), base("Prefect")
    record = view.mlflow_run_id or (view.result or {}).get("mlflow_run_id")
    found = {
        "MLflow": f"{mlflow}/#/runs/{record}" if mlflow and record else "",
        "Prefect": f"{prefect}/runs/flow-run/{view.flow_run_id}" if prefect and view.flow_run_id else "",
    }
    return {name: link for name, link in found.items() if link}


def base(name: str) -> str:
    """The address of a server's pages, empty if it has none that a browser can reach."""
    told = os.environ.get(TOLD[name], "")
    known = next((entry.url for entry in backend.services() if entry.name == name), "")
    url = (told or known).rstrip("/").removesuffix("/api")
    host = urlsplit(url).hostname or ""
    return url if url.startswith("http") and (told or "." in host or ":" in host or host == "localhost") else ""
