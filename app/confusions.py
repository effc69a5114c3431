"""What models said of samples against what these were: one small table of counts a model, shaded by share."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

HTML = "<section></section>"
CSS = """
section { display: grid; gap: 1rem 1.5rem;
      grid-template-columns: repeat(auto-fill, minmax(min(100%, max(260px, (100% - 3rem) / 3)), 1fr));
      font-family: var(--st-font); color: var(--st-text-color); }
table { width: 100%; border-collapse: separate; border-spacing: 2px; table-layout: fixed; font-size: 0.8rem;
        font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 0.35rem 2px; font-size: 0.9375rem; overflow-wrap: anywhere; }
caption span { color: var(--st-gray-text-color); }
th { font-weight: 400; color: var(--st-gray-text-color); overflow: hidden; text-overflow: ellipsis; }
thead th { padding-bottom: 0.15rem; }
tbody th { text-align: right; padding-right: 0.4rem; white-space: nowrap; }
tbody td { height: 2.9rem; padding: 0; text-align: center; border-radius: 2px; }
"""
# One hue from 6 to 75 %, and 0 samples without any. Text goes in as textContent: nothing in it is parsed.
JS = """
export default function ({ parentElement, data }) {
  const made = (tag, text, scope) => {
    const found = document.createElement(tag);
    found.textContent = text;
    if (scope) found.scope = scope;
    return found;
  };
  const row = (...cells) => {
    const found = document.createElement("tr");
    found.append(...cells);
    return found;
  };
  const cell = (count, all) => {
    const found = made("td", count);
    if (all) found.style.background = `rgba(76, 134, 240, ${0.06 + 0.69 * (count / all)})`;
    return found;
  };
  const table = ({ title, note, actions, counts }) => {
    const [found, head, body] = ["table", "thead", "tbody"].map((tag) => document.createElement(tag));
    if (title) {
      const caption = document.createElement("caption");
      caption.append(made("b", title), made("span", ` · ${note}`));
      found.append(caption);
    }
    head.append(row(made("td", ""), ...actions.map((name) => made("th", `said ${name}`, "col"))));
    body.append(...counts.map((line, at) => {
      const all = line.reduce((sum, count) => sum + count, 0);
      return row(made("th", `was ${actions[at]}`, "row"), ...line.map((count) => cell(count, all)));
    }));
    found.append(head, body);
    return found;
  };
  parentElement.querySelector("section").replaceChildren(...data.matrices.map(table));
}
"""


def matrix(actions: Sequence[str], counts: Sequence[Sequence[int]], title: str = "", note: str = "") -> dict[str, Any]:
    """A table of counts by true action (down) and said action (across)."""
    return {"title": title, "note": note, "actions": list(actions), "counts": [list(row) for row in counts]}


def tables(matrices: Sequence[dict[str, Any]], key: str) -> None:
    """Draws them beside each other, up to three in a row."""
    draw = st.components.v2.component("pivotline_confusions", html=HTML, css=CSS, js=JS)
    draw(data={"matrices": list(matrices)}, key=key)
