"""The step line of a run: its stages from left to right, each with its state in words, colour and shape."""

from collections.abc import Sequence

import streamlit as st

HTML = "<ol></ol>"
CSS = """
ol { list-style: none; margin: 0; padding: 0; display: grid; grid-auto-flow: column; grid-auto-columns: 1fr;
     font-family: var(--st-font); color: var(--st-text-color); }
li { --mark: var(--st-gray-color); position: relative; padding: 1.5rem 0.75rem 0 0;
     font-size: 0.9rem; line-height: 1.35; }
li.running { --mark: var(--st-blue-color); }
li.done { --mark: var(--st-green-color); }
li.cached { --mark: var(--st-violet-color); }
li.failed { --mark: var(--st-red-color); }
li.crashed { --mark: var(--st-orange-color); }
li::before { content: ""; position: absolute; left: 0; right: 0; top: 7px; height: 2px;
             background: var(--st-border-color); }
li.done::before, li.cached::before { background: var(--mark); }
li:last-child::before { display: none; }
i { position: absolute; left: 0; top: 1px; width: 14px; height: 14px; box-sizing: border-box; border-radius: 50%;
    border: 2px solid var(--mark); background: var(--st-background-color); }
li.running i { border-width: 4px; }
li.done i, li.cached i, li.failed i, li.crashed i { background: var(--mark); }
li.failed i, li.crashed i { border-radius: 2px; }
b { font-weight: 600; }
small { display: block; min-height: 1.35em; font-size: inherit; font-variant-numeric: tabular-nums;
        color: var(--st-text-color); opacity: 0.72; }
@media (max-width: 560px) {
  ol { grid-auto-flow: row; }
  li { padding: 0 0 0.75rem 1.75rem; }
  li::before { left: 6px; right: auto; top: 10px; bottom: -6px; width: 2px; height: auto; }
  i { top: 3px; }
}
"""
# Text goes in as textContent: nothing in it is parsed.
JS = """
export default function ({ parentElement, data }) {
  const item = ([name, state, detail]) => {
    const [row, mark, head, word, note] = ["li", "i", "b", "span", "small"].map((tag) => document.createElement(tag));
    row.className = state;
    if (state === "running") row.setAttribute("aria-current", "step");
    head.textContent = name + " ";
    word.textContent = state;
    note.textContent = detail;
    row.append(mark, head, word, note);
    return row;
  };
  parentElement.querySelector("ol").replaceChildren(...data.rows.map(item));
}
"""


def step_line(rows: Sequence[tuple[str, str, str]], key: str) -> None:
    """Draws (stage, state, detail); states are waiting, running, cached, done, failed, crashed and cancelled."""
    draw = st.components.v2.component("pivotline_steps", html=HTML, css=CSS, js=JS)
    draw(data={"rows": [list(row) for row in rows]}, key=key)
