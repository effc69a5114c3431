"""No value later than the decision time enters a feature."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_root import iso, trade_on, walk, write_root, write_trades

from dataset.samples import PreprocessConfig, build
from dataset.schema import book_path, candle_path, timeframe_seconds

CONFIG = PreprocessConfig(seq_len=40, no_trade_gap_bars=7)
FEATURES = ("price_data", "cob_data", "tech_data", "market_data", "position_state", "decision_price")
FACTOR = 1000


def _disturb(root: Path, time: int, trade: dict[str, str]) -> None:
    """Multiply all that was not known at a time: candles still open then, later books, later prices of the trade."""
    now = pd.Timestamp(time, unit="s", tz="UTC")
    for symbol, timeframe in (("SIM/ETH", "1m"), ("SIM/ETH", "15m"), ("SIM/BTC", "1m")):
        path = candle_path(root, symbol, timeframe)
        frame = pd.read_parquet(path)
        later = frame["open_time"] + pd.Timedelta(seconds=timeframe_seconds(timeframe)) > now
        frame.loc[later, ["open", "high", "low", "close", "volume"]] *= FACTOR
        frame.to_parquet(path)
    book = pd.read_parquet(book_path(root, "SIM/ETH"))
    book.loc[book["time"] > now, book.columns[1:]] *= FACTOR
    book.to_parquet(book_path(root, "SIM/ETH"))
    later_prices = {
        f"{end}_price": repr(float(trade[f"{end}_price"]) * FACTOR)
        for end in ("entry", "exit")
        if trade[f"{end}_time"] > iso(time)
    }
    write_trades(root, [{**trade, **later_prices}])


# Ends of candles of every timeframe, and places inside them.
@pytest.mark.parametrize("entry", [719, 723, 726])
@pytest.mark.parametrize("side", ["long", "short"])
def test_the_future_changes_no_feature(tmp_path, entry, side):
    trade = trade_on(walk(1500), entry, entry + 47, side)
    write_root(tmp_path / "clean", [trade])
    clean, _ = build(tmp_path / "clean", CONFIG)
    assert len(clean["kind"]) == 5
    for sample, time in enumerate(clean["decision_time"]):
        root = tmp_path / f"disturbed{sample}"
        write_root(root, [trade])
        _disturb(root, int(time), trade)
        disturbed, _ = build(root, CONFIG)
        for name in FEATURES:
            np.testing.assert_array_equal(disturbed[name][sample], clean[name][sample], err_msg=name)
        assert disturbed["future_prices"][sample] > FACTOR / 2  # the disturbance reached the labels


def test_an_entry_sees_nothing_after_it_was_decided(tmp_path):
    primary = walk(1500)
    trade = {**trade_on(primary, 700, 760), "decided_at": iso(primary.close_time[690])}
    write_root(tmp_path, [trade])
    arrays, _ = build(tmp_path, CONFIG)
    assert arrays["decision_time"][0] == primary.close_time[690]
    assert arrays["decision_price"][0] == primary.values[690, 3]
