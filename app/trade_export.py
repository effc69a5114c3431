"""The trades of a dataset as a CSV file that a spreadsheet opens safely and an import takes back."""

from app import inert
from dataset.cells import read_cells
from dataset.schema import ANNOTATION_COLUMNS, annotation_path
from flows import control

PRICES = "_price"  # the end of the names of columns that hold numbers


def trades_csv(version: str) -> str:
    """Every row of the version's annotations, the refused ones too."""
    rows = [cells for _, cells in read_cells(annotation_path(control.folder(version)))]
    names = [name for name in ANNOTATION_COLUMNS if any(name in cells for cells in rows)]
    return inert.as_csv({name: [value(name, cells.get(name, "")) for cells in rows] for name in names})


def value(name: str, text: str) -> float | str:
    """A price as the number it is; what is none stays text."""
    if not name.endswith(PRICES):
        return text
    try:
        return float(text)
    except ValueError:
        return text
