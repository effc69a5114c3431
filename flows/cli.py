"""`pivotline`: one command line for data, models and runs. Every command speaks JSON with `--json`."""

import gc
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from flows import output
from flows.commands import again, data, doctor, model, predict, prune, registry, sync
from flows.commands.foreground import CANCELLED, carry_on
from flows.commands.given import filled
from flows.errors import BAD_INPUT, bounded, classify
from flows.project import Project, find_project

app = typer.Typer(
    name="pivotline",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="From hand-annotated trades to a registered model.",
)
app.add_typer(data.app, name="data")
app.add_typer(model.app, name="model")
app.command()(predict.predict)
app.add_typer(registry.app, name="registry")
app.command()(prune.prune)
app.command()(sync.sync)
app.command()(doctor.doctor)
app.command()(again.resume)
app.command()(again.retry)

INTERRUPTED = 130  # 128 and the signal, as shells count

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="A setting over params.yaml, such as train.epochs=3; may be repeated."),
]
Data = Annotated[
    str | None,
    typer.Option("--data", metavar="FOLDER", callback=filled, help="A data folder instead of the project's data/."),
]
Version = Annotated[
    str | None,
    typer.Option("--dataset-version", callback=filled, help="A dataset version that data.dvc or an earlier run names."),
]


def chosen(changes: list[str] | None) -> dict[str, dict[str, Any]]:
    from flows.params import merge, parse_change

    return merge([parse_change(text) for text in changes or []])


def data_folder(data: str | None, dataset_version: str | None) -> Path | None:
    """The folder of `--data`. Raises ValueError where a version is asked for too: which of them is meant is a guess."""
    if data and dataset_version:
        raise ValueError(f"--data {data} and --dataset-version {dataset_version} are both given, expected one of them")
    return Path(data).resolve() if data else None


@app.command()
def run(changes: Changes = None, data: Data = None, dataset_version: Version = None, as_json: Json = False) -> None:
    """Preprocess, train, evaluate, register and prune here and now, without any server."""
    from flows.reaper import reap
    from flows.runfile import new_run_id
    from flows.sync import at_start
    from flows.workspace import create

    folder = data_folder(data, dataset_version)
    project, run_id = find_project(), new_run_id()
    say = output.quiet if as_json else output.line
    reap(project, say)
    at_start(project, say)
    workspace = create(project, run_id, chosen(changes), data=folder, dataset_version=dataset_version)
    say(f"run {run_id} in {workspace}")
    say(frozen(project, workspace))
    carry_on(project, run_id, as_json)


def frozen(project: Project, workspace: Path) -> str:
    """Which dataset the run has, and whether data.dvc names it."""
    from dataset.versions import tracked_version

    pointer, version = project.root / "data.dvc", tracked_version(workspace / "data.dvc")
    known = pointer.is_file() and tracked_version(pointer) == version
    hint = "" if known else ", which data.dvc does not name; the run keeps its files in the cache"
    return f"dataset version {version[:12]}{hint}"


@app.command()
def trigger(
    changes: Changes = None,
    data: Data = None,
    dataset_version: Version = None,
    key: Annotated[
        str | None, typer.Option(callback=filled, help="Run id to use; the same key gives the same run.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Put a run into the queue of the running stack."""
    from dataclasses import asdict

    from flows import control

    done = control.trigger(chosen(changes), dataset_version, key, data_folder(data, dataset_version))
    output.show(
        asdict(done),
        as_json,
        lambda: [f"run {done.run_id} is queued in place {done.place}; follow it with `pivotline status {done.run_id}`"],
    )


@app.command()
def status(
    run_id: Annotated[str | None, typer.Argument(callback=filled, help="One run; all when left out.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    as_json: Json = False,
) -> None:
    """Runs, their states and the services, or one run with its stages."""
    from dataclasses import asdict

    from flows import control
    from flows.datasets import current
    from flows.reaper import reap
    from flows.summary import run_lines, status_lines

    reap(find_project(), output.quiet)
    if run_id:
        view = control.run(run_id)
        newer = control.newer_data(view.dataset_version, current(find_project()))
        output.show(asdict(view) | {"newer_data": newer}, as_json, lambda: run_lines(view, newer))
        return
    services, views = control.services(), control.runs(limit)
    found = {"services": [asdict(entry) for entry in services], "runs": [asdict(entry) for entry in views]}
    output.show(found, as_json, lambda: status_lines(services, views))


@app.command()
def cancel(run_id: str, as_json: Json = False) -> None:
    """End a queued or running run; its checkpoints stay."""
    from flows import control

    said = control.cancel(run_id)
    output.show({"run_id": run_id, "said": said}, as_json, lambda: [f"run {run_id}: {said}"])


@app.command()
def up(
    app_port: Annotated[int, typer.Option(min=1, max=65535)] = 8501,
    mlflow_port: Annotated[int, typer.Option(min=1, max=65535)] = 5000,
    prefect_port: Annotated[int, typer.Option(min=1, max=65535)] = 4200,
) -> None:
    """Start MLflow, Prefect, the worker and the page on 127.0.0.1; Ctrl-C ends them all."""
    from flows import servers, services

    services.up(find_project(), servers.Ports(app=app_port, mlflow=mlflow_port, prefect=prefect_port), output.line)


@app.command()
def serve() -> None:
    """Be the worker: serve the flow to Prefect, one run at a time."""
    from flows.pipeline import serve as serve_flow

    serve_flow()


def worded(error: typer.TyperException) -> str:
    """What is wrong with the command's words, with the name of the option or argument where it is one of them."""
    return str(error.format_message()) if hasattr(error, "format_message") else str(error)


def main() -> None:
    """The process edge: every error becomes one sentence and an exit code by class."""
    try:
        code = app(standalone_mode=False)  # the exit code of an interrupt or an early end, None of a command that ran
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(code)
    except (KeyboardInterrupt, typer.Abort):
        output.quiet(CANCELLED)
        sys.exit(INTERRUPTED)
    except typer.TyperException as error:  # the words of the command line itself are off
        output.quiet(f"error: {bounded(worded(error))}")
        sys.exit(BAD_INPUT)
    except Exception as error:  # every other error becomes a sentence here
        report = classify(error)
        if "--json" in sys.argv:
            output.line(json.dumps({"error": report.message, "code": report.code}))
        output.quiet(f"error: {report.message}")
        sys.exit(report.code)
    finally:
        gc.freeze()  # else the interpreter's end looks through all of torch and MLflow for rubbish, which takes 2 s


if __name__ == "__main__":
    main()
