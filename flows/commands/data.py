"""`pivotline data`: a data folder in, checked and described."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.given import filled
from flows.output import show, table

if TYPE_CHECKING:
    from dataset.config import PreprocessConfig
    from flows.library import LibraryEntry

app = typer.Typer(no_args_is_help=True, help="Data folders and versions: import, validate, describe, use, versions.")

Root = Annotated[str | None, typer.Argument(callback=filled, help="A data folder; the project's data/ when left out.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def folder(root: str | None) -> Path:
    from flows.project import find_project

    return Path(root) if root else find_project().root / "data"


def samples_config() -> "PreprocessConfig":
    """The project's settings of the samples; the defaults outside a project."""
    from dataset.config import PreprocessConfig
    from flows.params import load_params
    from flows.project import find_project

    try:
        project = find_project()
    except ValueError:
        return PreprocessConfig()
    return load_params(project.root / "params.yaml").preprocess


def candle_source(text: str) -> tuple[str, str, Path]:
    """`ETH/USDT:1m=file` as symbol, timeframe and path."""
    name, sign, path = text.partition("=")
    symbol, colon, timeframe = name.rpartition(":")
    if not (sign and colon and symbol and timeframe and path):
        raise ValueError(f"--candles {text}: expected SYMBOL:TIMEFRAME=FILE, such as ETH/USDT:1m=eth.feather")
    return symbol, timeframe, Path(path)


@app.command("import")
def import_(
    to: Annotated[Path, typer.Option(help="The data folder to make.")],
    annotations: Annotated[Path, typer.Option(help="Annotated trades, CSV or Parquet.")],
    candles: Annotated[list[str], typer.Option(help="SYMBOL:TIMEFRAME=FILE; may be repeated.")],
    primary: Annotated[str, typer.Option(help="The symbol that was annotated.")],
    reference: Annotated[str, typer.Option(help="The symbol of the reference stream.")],
    timeframes: Annotated[str, typer.Option(help="Streams of the primary symbol, such as 1m,15m,1h,1d.")],
    name: Annotated[str, typer.Option(callback=filled, help="What to call the dataset.")] = "imported",
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing data folder.")] = False,
    as_json: Json = False,
) -> None:
    """Check annotations and candles and lay them out as a data folder, all or nothing."""
    from dataset.importers import CandleSource, import_dataset

    sources = [CandleSource(*candle_source(text)) for text in candles]
    steps = [part.strip() for part in timeframes.split(",")]
    done = import_dataset(
        *(to, annotations, sources, primary, reference, steps, name), replace=replace, config=samples_config()
    )
    show(done, as_json, lambda: imported(done))


def imported(done: dict[str, Any]) -> list[str]:
    """What was taken, file by file, and what was found worth a warning."""
    lines = [
        f"{done['target']}: {done['trades']} of {done['rows']} trades ({done['long']} long, {done['short']} short)"
    ]
    rows = [("  candles", "timeframe", "rows", "from", "to", "file")]
    for entry in done["candles"]:
        rows.append(
            (
                "  " + entry["symbol"],
                entry["timeframe"],
                str(entry["accepted"]),
                entry["first"],
                entry["last"],
                entry["file"],
            )
        )
    count = len(done["warnings"])
    told = f"{count} {'warning' if count == 1 else 'warnings'}: see pivotline data validate {done['target']}"
    return [*lines, *table(rows, right=(2,)), *done["rejections"], *([told] if count else []), *done["warnings"]]


@app.command()
def use(
    version: Annotated[str, typer.Argument(callback=filled, help="A version's first letters.")], as_json: Json = False
) -> None:
    """Put a known dataset version into data/ and data.dvc; the one that leaves stays in the DVC cache."""
    from flows import library

    known = [entry.version for entry in library.library() if entry.version.startswith(version)]
    if len(known) != 1:
        raise ValueError(f"dataset version {version}: {len(known)} known versions begin so, expected 1")
    left = library.use(known[0])
    show({"version": known[0], "left": left}, as_json, lambda: [f"data/ holds {known[0]}; {left} stays in the cache"])


@app.command()
def versions(as_json: Json = False) -> None:
    """Dataset versions that data/, git, runs and the DVC cache know."""
    from flows import library

    found = library.library()
    rows = [("version", "dataset", "trades", "where")]
    rows += [(one.version[:12], one.name, str(one.trades or "—"), where(one)) for one in found]
    show({"versions": [asdict(one) for one in found]}, as_json, lambda: table(rows, right=(2,)))


def where(entry: "LibraryEntry") -> str:
    state = "in data/" if entry.current else "in the cache" if entry.restorable else "files not here"
    return ", ".join([state, *(["data.dvc"] if entry.tracked else []), *entry.seen[:2]])


@app.command()
def validate(root: Root = None, as_json: Json = False) -> None:
    """Check every rule of a data folder, and that the settings give samples; errors end with exit code 2."""
    from dataset.enough import history_findings
    from dataset.findings import errors
    from dataset.validate import validate as findings_of

    found = findings_of(folder(root))
    if not errors(found):
        found += history_findings(folder(root), samples_config())
    broken = len(errors(found))
    show(
        {"findings": [asdict(entry) for entry in found]},
        as_json,
        lambda: [str(entry) for entry in found] or ["No findings."],
    )
    if broken:
        raise ValueError(f"{folder(root)}: {broken} {'error' if broken == 1 else 'errors'} to mend")


@app.command()
def describe(root: Root = None, as_json: Json = False) -> None:
    """Count trades and samples, and name the streams."""
    from dataset.describe import describe as facts_of
    from flows.params import load_params
    from flows.project import find_project

    facts = facts_of(folder(root), load_params(find_project().root / "params.yaml").preprocess)
    show(facts, as_json, lambda: table([(name, plain(value)) for name, value in facts.items() if value != []]))


def plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count} {name}" for name, count in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
