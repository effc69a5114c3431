"""The page's server: what it has imported before it answers."""

import subprocess
import sys

from checkout import ROOT

# The modules of the page are imported as its views would, after the server has warmed up.
SCRIPT = """
import sys
from importlib import import_module
from pathlib import Path

from app import __main__ as server

server.warm()
before = {name.partition(".")[0] for name in sys.modules}
for path in sorted(Path("app").glob("[a-z]*.py")):
    if path.stem != "main":
        import_module(f"app.{path.stem}")
after = {name.partition(".")[0] for name in sys.modules}
print(sorted(after - before - {"app", *sys.stdlib_module_names, *sys.builtin_module_names}))
"""


def test_no_visitor_waits_for_a_library() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
