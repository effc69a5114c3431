"""The simulated sample dataset: the same bytes each time, and trades that keep the rules of real ones."""

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet as pq
import pytest

from dataset.annotations import Annotation, read_annotations
from dataset.candles import HIGH, LOW, Candles, load
from dataset.schema import read_info
from dataset.simulate import simulate
from dataset.simulate.__main__ import main
from dataset.simulate.noise import bell, uniform
from dataset.versions import tracked_version, version

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("simulated") / "data"
    simulate(out)
    return out


@pytest.fixture(scope="module")
def trades(root: Path) -> list[Annotation]:
    accepted, findings = read_annotations(root)
    assert findings == []
    return accepted


@pytest.fixture(scope="module")
def candles(root: Path) -> Candles:
    return load(root, "SIM/ETH", "1m")


def test_noise_is_the_same_on_every_machine() -> None:
    assert uniform(7, 1, 5, 0, 999).tolist() == [197, 152, 568, 566, 44]
    assert uniform(7, 1, 2, 0, 999).tolist() == uniform(7, 1, 5, 0, 999).tolist()[:2]
    assert uniform(7, 2, 5, 0, 999).tolist() != uniform(7, 1, 5, 0, 999).tolist()


def test_noise_has_the_stated_range_and_spread() -> None:
    even = uniform(1, 2, 10_000, -3, 3)
    assert set(even.tolist()) == set(range(-3, 4))
    curve = bell(1, 2, 10_000, 10)
    assert abs(curve.mean()) < 0.4
    assert 11 < curve.std() < 13


def test_regenerating_gives_the_tracked_version(root: Path) -> None:
    created_by = pq.ParquetFile(root / "candles" / "SIM_ETH" / "1m.parquet").metadata.created_by
    sample = f"parquet-cpp-arrow version {locked('pyarrow')}"
    if created_by != sample:
        pytest.skip(f"the sample was written by {sample}; pyarrow {pyarrow.__version__} writes its own name into files")
    assert version(root) == tracked_version(PROJECT / "data.dvc")


def test_another_seed_is_another_market(root: Path, tmp_path: Path) -> None:
    simulate(tmp_path / "data", seed=8)
    assert version(tmp_path / "data") != version(root)


def test_is_small_and_says_that_it_is_simulated(root: Path, trades: list[Annotation]) -> None:
    assert sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) < 4_000_000
    assert read_info(root).simulated
    assert {trade.annotator for trade in trades} == {"simulated"}
    assert all("simulated" in trade.note for trade in trades)


def test_candles_have_no_gap_and_enclose_their_prices(root: Path) -> None:
    for symbol in ("SIM/ETH", "SIM/BTC"):
        bars = load(root, symbol, "1m")
        assert set(np.diff(bars.open_time)) == {60}
        opens, highs, lows, closes, volumes = bars.values.T
        assert (highs >= np.maximum(opens, closes)).all()
        assert (lows <= np.minimum(opens, closes)).all()
        assert (lows > 0).all()
        assert (volumes > 0).all()
        assert (opens[1:] == closes[:-1]).all()


def test_trades_keep_the_rules_of_real_ones(trades: list[Annotation], candles: Candles) -> None:
    assert len(trades) == 51
    assert sum(trade.side == "short" for trade in trades) == 26
    assert 5 <= sum(not trade.in_profit for trade in trades) <= 15
    first = int(candles.open_time[0])
    assert trades[0].entry_time - first >= 200 * 3600, "the first trade needs 200 hourly candles before it"
    for trade, following in zip(trades, [*trades[1:], None], strict=True):
        assert trade.exit_time - trade.entry_time >= 4 * 60
        assert following is None or following.entry_time - trade.exit_time >= 90 * 60


def test_prices_lie_in_the_clicked_candle_and_no_stop_is_hit(trades: list[Annotation], candles: Candles) -> None:
    first = int(candles.open_time[0])
    for trade in trades:
        entry, exit_ = (trade.entry_time - first) // 60 - 1, (trade.exit_time - first) // 60 - 1
        for bar, price in ((entry, trade.entry_price), (exit_, trade.exit_price)):
            assert candles.values[bar, LOW] <= price <= candles.values[bar, HIGH]
        assert trade.stop_price is not None
        held = candles.values[entry + 1 : exit_ + 1]
        worst = held[:, LOW].min() if trade.direction > 0 else held[:, HIGH].max()
        assert trade.direction * (worst - trade.stop_price) > 0


def test_entries_have_a_cause(trades: list[Annotation], candles: Candles, root: Path) -> None:
    """On average price is stretched, the book leans and volume is up where a trade is entered."""
    closes, volumes = candles.values[:, 3], candles.values[:, 4]
    book = pq.read_table(root / "book" / "SIM_ETH.parquet").to_pandas()
    sizes = book.drop(columns="time").to_numpy()
    lean = (sizes[:, :20].sum(axis=1) - sizes[:, 20:].sum(axis=1)) / sizes.sum(axis=1)
    first = int(candles.open_time[0])
    bars = np.array([(trade.entry_time - first) // 60 - 1 for trade in trades])
    sides = np.array([trade.direction for trade in trades])
    stretched = np.array([closes[bar] / closes[bar - 60 : bar].mean() - 1 for bar in bars]) * sides
    busier = np.array([volumes[bar - 4 : bar + 1].mean() / volumes[bar - 60 : bar].mean() for bar in bars])
    assert (stretched < 0).mean() > 0.8
    assert (lean[(bars + 1) // 5] * sides).mean() > 0.2
    assert busier.mean() > 1.2


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(ValueError, match="is not empty"):
        simulate(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_command_exits_with_2_for_a_folder_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    monkeypatch.setattr("sys.argv", ["simulate", str(tmp_path)])
    assert main() == 2
    assert "is not empty" in capsys.readouterr().err


def locked(package: str) -> str:
    """The version that the lock file pins."""
    lines = (PROJECT / "requirements.lock").read_text("utf-8").splitlines()
    return next(line.split("==")[1].split()[0] for line in lines if line.startswith(f"{package}=="))
