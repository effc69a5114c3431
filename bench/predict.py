"""One answer: the time from an unscaled sample to its action on the CPU, beside the network as it was first listed.

`python -m bench.predict` prints a table and writes `bench/predict.json`. The others take turns with ours: the network
in its plain form (every candle a token), and the model class that MLflow serves around the same folder.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from mlflow.pyfunc import PythonModelContext
from torch.utils.flop_counter import FlopCounterMode

from bench import gemm
from bench.claims import THREADS, Claim, finish
from bench.samples import TRAIN, raw
from dataset.scaler import fit
from flows.scorer import Scorer
from model.networks import build
from model.predictions import INPUTS
from model.presets import base, fitted
from model.serving import SCALER, Predictor
from model.weights import save_model

ASKED = 200
OUT = Path(__file__).with_suffix(".json")


def folder_of(root: Path, plain: bool, arrays: dict[str, np.ndarray]) -> Path:
    """A model folder with fresh weights and the scaler of the sample dataset."""
    config = fitted(replace(base(), token_bars=1) if plain else base(), arrays)
    folder = save_model(root, build(config).state_dict(), config)
    rows = np.flatnonzero(arrays["split"] == TRAIN)
    (folder / SCALER).write_text(fit(arrays, rows).to_json(), encoding="utf-8")
    return folder


def milliseconds(ask: Callable[[], object]) -> float:
    started = time.perf_counter()
    ask()
    return 1000 * (time.perf_counter() - started)


def measure(root: Path) -> dict[str, list[float]]:
    """Milliseconds of every question, ours and the peers' in turns."""
    arrays = raw()
    one = {name: arrays[name][:1] for name in INPUTS}
    ours = Predictor(folder_of(root / "ours", False, arrays))
    plain = Predictor(folder_of(root / "plain", True, arrays))
    context = PythonModelContext({"model": str(root / "ours")}, {})
    scorer = Scorer()
    scorer.load_context(context)
    contestants: dict[str, Callable[[], object]] = {
        "ours": lambda: ours.predict(one),
        "plain form": lambda: plain.predict(one),
        "as MLflow serves": lambda: scorer.predict(context, one),
    }
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(ASKED + 10):
        for name, ask in contestants.items():
            took = milliseconds(ask)
            if number >= 10:
                found[name].append(took)
    return found


def floor_ms() -> float:
    """What the operations of one answer would take as large fp32 products: no form of the same network is faster."""
    arrays = raw()
    network = build(fitted(base(), arrays)).eval()
    fields = {name: torch.tensor(arrays[name][:1], dtype=torch.float32) for name in INPUTS}
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(fields)
    return 1000 * counter.get_total_flops() / 1e9 / gemm.rate(torch.float32)


def main() -> None:
    torch.set_num_threads(THREADS)
    with tempfile.TemporaryDirectory() as name:
        found = measure(Path(name))
    p50 = {name: statistics.median(values) for name, values in found.items()}
    print("                 p50 ms    p95 ms   best ms")
    for name, values in found.items():
        print(f"{name:<15}{p50[name]:>8.2f}{np.percentile(values, 95):>10.2f}{min(values):>10.2f}")
    floor = floor_ms()
    why = f"its products alone take {floor:.1f} ms at the machine's GEMM rate"
    claims = [
        Claim(what="p50 of one sample, base, 2 threads", value=p50["ours"], unit="ms", goal="<= 8", note=why),
        Claim(what="its products alone at the machine's GEMM rate", value=floor, unit="ms", goal=""),
        Claim(what="plain form over ours, p50", value=p50["plain form"] / p50["ours"], unit="x", goal=""),
    ]
    finish(OUT, claims, {"milliseconds": found})


if __name__ == "__main__":
    main()
