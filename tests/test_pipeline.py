"""How the worker serves the flow: what counts is what Prefect's runner was made with, not what we asked for."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SERVE = """
from prefect.runner import Runner
from flows import pipeline

def add_flow(self, *given, **named):
    print(self.query_seconds, self.limit, self.pause_on_shutdown)
    raise SystemExit

Runner.add_flow = add_flow
pipeline.serve()
"""


def test_the_worker_asks_every_two_seconds_and_runs_one_at_a_time(tmp_path: Path) -> None:
    told = {"PIVOTLINE_STATE": str(tmp_path / "state"), "PREFECT_HOME": str(tmp_path / "prefect")}
    told |= {"PIVOTLINE_PROJECT": str(ROOT), "PREFECT_API_URL": "http://127.0.0.1:9/api"}
    done = subprocess.run(
        [sys.executable, "-c", SERVE], cwd=ROOT, env=os.environ | told, capture_output=True, text=True, check=True
    )
    assert "2 1 False" in done.stdout.splitlines()
