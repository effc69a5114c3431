"""The page's server: `streamlit run app/main.py` with all that the views stand on imported before it answers."""

import sys
from importlib import import_module
from pathlib import Path

from streamlit.web import cli

# What is ours below the page, and with it torch, Prefect's client and pandas: seconds that the first visitor waited.
BELOW = ("flows.control", "model.verdict", "model.size", "dataset.describe", "dataset.profile", "dataset.validate")


def warm() -> None:
    for name in BELOW:
        import_module(name)


if __name__ == "__main__":
    warm()
    sys.argv = ["streamlit", "run", str(Path(__file__).with_name("main.py")), *sys.argv[1:]]
    cli.main()
