"""Reports of stages: small JSON files that DVC shows as metrics."""

import json
from pathlib import Path
from typing import Any


def write_report(path: Path, values: dict[str, Any]) -> None:
    """Writes a report; NaN is refused, since what cannot be computed is absent or null."""
    path.write_text(json.dumps(values, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_report(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))
