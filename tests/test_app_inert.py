"""A table as CSV: no text of others is a formula, and numbers stay numbers."""

import csv
import io

import pytest
from hostile import FORMULAS, TEXTS

from app.inert import as_csv


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_and_no_header_starts_a_formula(formula: str) -> None:
    rows = read(as_csv({formula: [formula, "plain"]}))
    assert [row[0][0] for row in rows] == ["'", "'", "p"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_hostile_text_stays_in_its_cell(text: str) -> None:
    rows = read(as_csv({"name": [text], "next": [1]}))
    assert len(rows) == 2
    assert rows[1][1] == "1"
    assert rows[1][0].lstrip("'").replace(" ", "") == "".join(
        char for char in text if char.isprintable() and char != " "
    )


def test_numbers_stay_numbers_and_what_is_missing_is_empty() -> None:
    assert read(as_csv({"n": [-0.5, 3, None]})) == [["n"], ["-0.5"], ["3"], [""]]
