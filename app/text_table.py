"""A table of plain text, one row a fact and one column a thing that is compared.

Streamlit's own table draws each cell as a Markdown document of its own: sixty of them take a tenth of a second.
"""

from collections.abc import Mapping, Sequence

import streamlit as st

HTML = "<div><table><thead></thead><tbody></tbody></table></div>"
CSS = """
div { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-family: var(--st-font); color: var(--st-text-color);
        font-size: 0.875rem; line-height: 1.5; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.375rem; text-align: left; vertical-align: top; font-weight: 400;
         border-bottom: 1px solid var(--st-border-color-light); }
thead th { color: var(--st-gray-text-color); }
tbody tr:last-child > * { border-bottom: 0; }
"""
# Text goes in as textContent: nothing in it is parsed.
JS = """
export default function ({ parentElement, data }) {
  const row = (cells, heads) => {
    const found = document.createElement("tr");
    found.append(...cells.map((text, at) => {
      const scope = heads || (at ? "" : "row");
      const cell = document.createElement(scope ? "th" : "td");
      cell.textContent = text;
      if (scope) cell.scope = scope;
      return cell;
    }));
    return found;
  };
  parentElement.querySelector("thead").replaceChildren(row(["", ...data.names], "col"));
  parentElement.querySelector("tbody").replaceChildren(...data.rows.map((cells) => row(cells)));
}
"""


def draw(names: Sequence[str], rows: Mapping[str, Sequence[str]], key: str) -> None:
    """`names` head the columns; `rows` has a value for each of them."""
    table = st.components.v2.component("pivotline_text_table", html=HTML, css=CSS, js=JS)
    table(data={"names": list(names), "rows": [[name, *values] for name, values in rows.items()]}, key=key)
