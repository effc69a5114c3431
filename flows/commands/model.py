"""`pivotline model`: what a network is made of."""

import typer

app = typer.Typer(no_args_is_help=True, help="Networks: their size.")


@app.callback()
def group() -> None:
    """Networks: their size."""
