"""Which servers answer: asked for their health, with a time limit, without any of their libraries."""

import os
from dataclasses import dataclass
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from flows.addresses import mlflow_url, prefect_url
from flows.project import find_project

ASK_S = 1.5
START = os.environ.get("PIVOTLINE_START", "make up")  # what starts the servers: containers have another command
REMEDY = f"start it with `{START}`"


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A server the stack needs, and whether it answers."""

    name: str
    url: str
    up: bool
    detail: str


def services() -> list[Service]:
    """Every server this process was told of, asked for its health within a second or so."""
    mlflow = mlflow_url(find_project())
    found = [ask("Prefect", prefect_url(), f"{prefect_url()}/health")]
    if mlflow.startswith("http"):
        found.append(ask("MLflow", mlflow, f"{mlflow}/health"))
    return found


def ask(name: str, url: str, health: str, wait_s: float = ASK_S) -> Service:
    try:
        with urlopen(health, timeout=wait_s) as answer:
            return Service(name=name, url=url, up=answer.status == 200, detail="answers")
    except HTTPError as error:
        return Service(name=name, url=url, up=False, detail=f"answers with status {error.code}")
    except ValueError:
        return Service(name=name, url=url, up=False, detail=f"has no usable address: {url!r} is no URL")
    except (URLError, OSError):
        return Service(name=name, url=url, up=False, detail=f"does not answer at {url}")
