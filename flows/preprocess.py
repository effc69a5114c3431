"""The `preprocess` stage: the annotated trades of `data/` become scaled samples, split in time."""

from pathlib import Path

import numpy as np

from dataset import scaler
from dataset.episodes import build_episodes, scaled
from dataset.samples import build, save_samples
from dataset.split import TEST, TRAIN
from dataset.versions import version
from flows.errors import stage_main
from flows.params import load_params
from flows.progress import counter
from flows.reports import write_report

DATA, OUT = Path("data"), Path("artifacts")
INPUTS = ("price_data", "cob_data", "tech_data", "market_data", "position_state")


def main() -> None:
    """Reads `data/` and the `preprocess` section; writes samples, episodes, an example and reports."""
    config = load_params(Path("params.yaml")).preprocess
    arrays, report = build(DATA, config, counter("samples"))
    fitted = scaler.fit(arrays, np.flatnonzero(arrays["split"] == TRAIN))
    OUT.mkdir(exist_ok=True)
    save_samples(OUT / "samples.npz", fitted.apply(arrays))
    save_samples(OUT / "episodes.npz", scaled(build_episodes(DATA, config, arrays), fitted))
    save_samples(OUT / "example.npz", example(arrays))
    (OUT / "scaler.json").write_text(fitted.to_json(), encoding="utf-8")
    write_report(OUT / "samples.json", report | {"version": version(DATA)})


def example(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs of one unscaled test sample (the last sample where there is none): a request to the served model."""
    test = np.flatnonzero(arrays["split"] == TEST)
    row = int(test[0]) if len(test) else len(arrays["split"]) - 1
    return {name: arrays[name][row : row + 1].astype(np.float32) for name in INPUTS}


if __name__ == "__main__":
    stage_main(main)
