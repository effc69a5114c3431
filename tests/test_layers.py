"""What each package may import: our own packages, and the libraries that it alone may use."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
OURS = {
    "dataset": set(),
    "model": {"dataset"},
    "flows": {"dataset", "model"},
    "app": {"dataset", "model", "flows"},
}
APP_MAY_USE = {"flows.control", "flows.params", "flows.errors", "flows.runview"}
ONLY_HERE = {
    "dvc": {"dataset/versions.py"},
    "talib": {"dataset/"},
    "torch": {"model/"},
    "safetensors": {"model/"},
    "gymnasium": {"model/"},
    "prefect": {"flows/pipeline.py", "flows/queue.py"},
    "mlflow": {
        "flows/aliases.py",
        "flows/fetched.py",
        "flows/logged.py",
        "flows/registry.py",
        "flows/remains.py",
        "flows/runrecord.py",
        "flows/scorer.py",
        "flows/tracking.py",
    },
    "streamlit": {"app/"},
}
FILES = sorted(path for package in OURS for path in (ROOT / package).rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Full names of everything a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_stay_in_their_layer(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    package = name.split("/")[0]
    tops = {entry.split(".")[0] for entry in imports(path)}
    assert tops & set(OURS) <= OURS[package] | {package}
    for library in tops & set(ONLY_HERE):
        assert any(name.startswith(place) for place in ONLY_HERE[library]), f"{name} imports {library}"


@pytest.mark.parametrize("path", sorted((ROOT / "app").rglob("*.py")), ids=lambda path: path.name)
def test_the_page_reaches_runs_through_control_alone(path: Path) -> None:
    modules = {".".join(entry.split(".")[:2]) for entry in imports(path) if entry.startswith("flows.")}
    assert modules <= APP_MAY_USE


def test_no_module_is_a_drawer() -> None:
    assert not [path for path in FILES if path.stem in ("utils", "helpers", "common", "misc")]


def test_a_foreground_run_imports_no_prefect() -> None:
    code = "import sys, flows.run, flows.workspace, flows.summary, flows.cli; print('prefect' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("stage", ["preprocess", "train", "evaluate"])
def test_a_stage_depends_on_all_of_ours_that_it_imports(stage: str) -> None:
    """What is not among its dependencies is neither frozen with a run nor part of what a cached result is known by."""
    pipeline = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    found, left = set(), [f"flows/{stage}.py"]
    while left:
        name = left.pop()
        found.add(name)
        ours = {entry.replace(".", "/") + ".py" for entry in imports(ROOT / name) if entry.startswith("flows.")}
        left += [path for path in ours - found if (ROOT / path).is_file()]
    assert found == {path for path in pipeline[stage]["deps"] if path.startswith("flows/")}
