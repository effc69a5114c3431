"""The real annotated trades, where they lie beside the project: every one becomes its samples."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dataset.samples import PreprocessConfig, build
from dataset.scaler import fit
from dataset.schema import DatasetInfo, candle_path, write_info

REAL = Path(__file__).parents[1].parent / "shared" / "data" / "real"
INFO = DatasetInfo(
    name="real",
    simulated=False,
    primary="ETH/USDT",
    reference="BTC/USDT",
    timeframes=("1m", "5m", "15m", "1h"),
    reference_timeframe="1m",
)

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the real set is not beside the project")


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    root = tmp_path_factory.mktemp("real")
    write_info(root, INFO)
    shutil.copy(REAL / "annotations.csv", root / "annotations.csv")
    for symbol in ("ETH/USDT", "BTC/USDT"):
        path = candle_path(root, symbol, "1m")
        path.parent.mkdir(parents=True)
        frame = pd.read_feather(REAL / f"{path.parent.name}-1m.feather")
        frame.rename(columns={"date": "open_time"}).to_parquet(path)
    return build(root, PreprocessConfig())


def test_51_trades_make_255_samples(real):
    arrays, report = real
    assert (len(report["trades"]), report["long"], report["short"]) == (51, 24, 27)
    assert len(arrays["actions"]) == 255
    assert report["samples_by_kind"] == {"entry": 51, "exit": 51, "hold": 102, "no-trade": 51}
    assert (report["refused"], report["warnings"]) == ([], [])
    assert arrays["price_data"].shape == (255, 5, 200, 5)


def test_splits_are_in_order_of_time_and_apart(real):
    arrays, report = real
    assert report["split"]["trades"] == {"train": 36, "validation": 7, "test": 8}
    assert report["split"]["purged"] == 9
    for earlier, later in ((0, 1), (1, 2), (0, 2)):
        ends = arrays["label_end_time"][arrays["split"] == earlier].max()
        assert ends + 15 * 60 < arrays["decision_time"][arrays["split"] == later].min()


def test_every_feature_is_finite_and_within_the_clip(real):
    arrays, _ = real
    scaled = fit(arrays, np.flatnonzero(arrays["split"] == 0)).apply(arrays)
    for name in ("price_data", "cob_data", "tech_data", "market_data", "position_state"):
        assert np.isfinite(scaled[name]).all()
        assert np.abs(scaled[name]).max() <= 10
    assert not scaled["cob_mask"].any()
    assert not scaled["cob_data"].any()
