"""Describing a data root: counts that add up and are those of a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from dataset.config import PreprocessConfig
from dataset.describe import describe
from dataset.importers import CandleSource, import_dataset
from dataset.simulate import simulate

REAL = Path(__file__).parent.parent.parent / "shared" / "data" / "real"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("described") / "data"
    simulate(out)
    return out


@pytest.fixture(scope="module")
def facts(root: Path) -> dict[str, Any]:
    return describe(root, PreprocessConfig())


def test_simulated_data_gives_five_samples_a_trade(facts: dict[str, Any]) -> None:
    assert (facts["trades"], facts["long"], facts["short"], facts["samples"]) == (51, 25, 26, 255)
    assert facts["samples_by_kind"] == {"entry": 51, "exit": 51, "hold": 102, "no-trade": 51}
    assert facts["samples_by_action"] == {"hold": 153, "buy": 51, "sell": 51}
    assert facts["simulated"] is True
    assert facts["streams"] == ["SIM/ETH 1m", "SIM/ETH 5m", "SIM/ETH 15m", "SIM/ETH 1h", "SIM/BTC 1m"]
    assert facts["symbols"] == ["SIM/BTC", "SIM/ETH"]
    assert facts["refused"] == []


def test_every_sample_is_in_one_split_and_facts_are_plain(facts: dict[str, Any]) -> None:
    assert sum(facts["split"].values()) == facts["samples"]
    assert json.loads(json.dumps(facts)) == facts


def test_counts_follow_the_config(root: Path) -> None:
    fewer = describe(root, PreprocessConfig(holds_per_trade=0, no_trades_per_trade=2))
    assert fewer["samples_by_kind"] == {"entry": 51, "exit": 51, "hold": 0, "no-trade": 102}


def test_invalid_data_is_refused_by_file_and_row(root: Path, tmp_path: Path) -> None:
    simulate(tmp_path / "data")
    path = tmp_path / "data" / "annotations.csv"
    path.write_text(path.read_text("utf-8").replace("sim-003,SIM/ETH,1m,short", "sim-003,SIM/ETH,1m,up"), "utf-8")
    with pytest.raises(ValueError, match=r"annotations\.csv row 4, side: 'up'"):
        describe(tmp_path / "data", PreprocessConfig())


@pytest.mark.skipif(not REAL.is_dir(), reason="the real market data is not beside the project")
def test_real_data_gives_255_samples(tmp_path: Path) -> None:
    candles = [
        CandleSource("ETH/USDT", "1m", REAL / "ETH_USDT-1m.feather"),
        CandleSource("BTC/USDT", "1m", REAL / "BTC_USDT-1m.feather"),
        CandleSource("ETH/USDT", "1d", REAL / "ETH-USD-daily-yahoo.csv"),
    ]
    timeframes = ["1m", "15m", "1h", "1d"]
    import_dataset(tmp_path / "data", REAL / "annotations.csv", candles, "ETH/USDT", "BTC/USDT", timeframes, "real")
    facts = describe(tmp_path / "data", PreprocessConfig())
    assert (facts["trades"], facts["long"], facts["short"], facts["samples"]) == (51, 24, 27, 255)
    assert facts["simulated"] is False
    assert facts["streams"][-2:] == ["ETH/USDT 1d", "BTC/USDT 1m"]
