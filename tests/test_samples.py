"""One annotation becomes an entry, an exit, holds and no-trades, with the fields the model expects."""

import numpy as np
import pytest
from data_root import START, trade_on, walk, write_candles, write_root, write_trades

from dataset.candles import Candles
from dataset.moments import ENTRY, EXIT, HOLD, NO_TRADE
from dataset.samples import PreprocessConfig, build, load_samples, save_samples

CONFIG = PreprocessConfig(seq_len=40, horizon_bars=15)


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """The candles, samples and report of a long trade (candles 700 to 760) and a short one (900 to 911)."""
    root = tmp_path_factory.mktemp("samples") / "data"
    primary = walk(1500)
    long = {**trade_on(primary, 700, 760), "stop_price": "90"}
    write_root(root, [long, {**trade_on(primary, 900, 911, "short"), "stop_price": ""}])
    return primary, *build(root, CONFIG)


def test_shapes_and_types_are_those_of_the_contract(walked):
    _, arrays, _ = walked
    expected = {
        "price_data": ((10, 4, 40, 5), np.float32),
        "cob_data": ((10, 40, 100), np.float32),
        "tech_data": ((10, 40), np.float32),
        "market_data": ((10, 30), np.float32),
        "position_state": ((10, 5), np.float32),
        "actions": ((10,), np.int64),
        "future_prices": ((10,), np.float32),
        "next_candles": ((10, 4, 5), np.float32),
        "pivots": ((10, 3, 2), np.float32),
        "trade_success": ((10, 1), np.float32),
        "decision_time": ((10,), np.int64),
        "decision_price": ((10,), np.float64),
        "label_end_time": ((10,), np.int64),
        "trade": ((10,), np.int64),
        "kind": ((10,), np.int64),
        "split": ((10,), np.int8),
    }
    assert {name: (values.shape, values.dtype.type) for name, values in arrays.items()} == expected


def test_each_trade_decides_five_times(walked):
    _, arrays, report = walked
    assert arrays["kind"].tolist() == [ENTRY, EXIT, HOLD, HOLD, NO_TRADE] * 2
    minutes = (arrays["decision_time"] - START) // 60
    assert minutes.tolist() == [701, 761, 721, 741, 671, 901, 912, 904, 908, 871]
    assert report["samples_by_kind"] == {"entry": 2, "exit": 2, "hold": 4, "no-trade": 2}
    assert (report["long"], report["short"], report["refused"]) == (1, 1, [])


def test_a_long_trade_is_bought_and_sold_and_a_short_one_sold_and_bought(walked):
    assert walked[1]["actions"].tolist() == [1, 2, 0, 0, 0, 2, 1, 0, 0, 0]


def test_position_state_by_hand(walked):
    primary, arrays, _ = walked
    close = primary.values[:, 3]
    state = arrays["position_state"]
    assert not state[[0, 4, 5, 9]].any()
    long_exit = [1, 1, np.log(close[760] / close[700]), np.log1p(60), np.log(close[760] / 90)]
    short_hold = [1, -1, -np.log(close[903] / close[900]), np.log1p(3), 0]
    np.testing.assert_allclose(state[1], long_exit, rtol=1e-6)
    np.testing.assert_allclose(state[7], short_hold, rtol=1e-6)


def test_labels_by_hand(walked):
    primary, arrays, _ = walked
    close = primary.values[:, 3]
    assert arrays["decision_price"][0] == close[700]
    np.testing.assert_allclose(arrays["future_prices"][0], close[715] / close[700] - 1, rtol=1e-6)
    following = [*np.log(primary.values[701, :4] / close[700]), np.log1p(primary.values[701, 4])]
    np.testing.assert_allclose(arrays["next_candles"][0, 0], following, rtol=1e-5)
    # At minute 701 the last whole quarter is 675-689; the next one, opened at 690, is a label and no feature.
    quarter = [*np.log(np.array([close[689], close[704]]) / close[689])]
    np.testing.assert_allclose(arrays["next_candles"][0, 2, [0, 3]], quarter, atol=1e-7)
    success = [float(close[760] > close[700])] * 4 + [np.nan] + [float(close[911] < close[900])] * 4 + [np.nan]
    np.testing.assert_array_equal(arrays["trade_success"][:, 0], success)


def test_labels_end_with_the_last_candle_they_use(walked):
    minutes = (walked[1]["label_end_time"] - START) // 60
    assert minutes[0] == 701 + 240  # the pivot horizon, beyond the exit at 761
    assert minutes[1] == 761 + 240


def test_prices_are_relative_to_the_last_close(walked):
    primary, arrays, _ = walked
    window = primary.values[661:701]
    np.testing.assert_allclose(arrays["price_data"][0, 0, :, 3], np.log(window[:, 3] / window[-1, 3]), atol=1e-7)
    np.testing.assert_allclose(arrays["price_data"][0, 0, :, 4], np.log1p(window[:, 4]), rtol=1e-6)
    assert (arrays["price_data"][:, :, -1, 3] == 0).all()


def test_no_trades_walk_back_out_of_every_trade(tmp_path):
    primary = walk(1500)
    write_root(tmp_path, [trade_on(primary, 800, 860), trade_on(primary, 870, 890), trade_on(primary, 891, 893)])
    arrays, _ = build(tmp_path, CONFIG)
    minutes = (arrays["decision_time"][arrays["kind"] == NO_TRADE] - START) // 60
    # 871 - 30 and - 60 lie in the first trade; 892 - 30 = 862 is after its exit at 861 and before the second.
    assert minutes.tolist() == [771, 781, 862]


def test_short_history_is_padded_and_counted_or_refused_and_named(tmp_path):
    primary = walk(1500)
    write_root(tmp_path, [trade_on(primary, 310, 420)])
    arrays, report = build(tmp_path, CONFIG)
    refused = {(entry["kind"], entry["reason"]) for entry in report["refused"]}
    reason = "SIM/ETH 15m has 18 candles of the window, expected 20"
    assert refused == {("no-trade", reason)}
    assert report["padded_bars"]["SIM/ETH 15m"] == (40 - 20) + (40 - 28) + (40 - 23) + (40 - 25)
    assert report["padded_samples"] == report["samples"] == 4
    assert np.isnan(arrays["price_data"][0, 2, :20]).all()
    assert not np.isnan(arrays["price_data"][0, 2, 20:]).any()


def test_no_history_at_all_is_refused(tmp_path):
    write_root(tmp_path, [trade_on(walk(1500), 20, 30)])
    with pytest.raises(ValueError, match="no sample has enough history: SIM/ETH 15m has at most 2 candles"):
        build(tmp_path, CONFIG)


def test_labels_beyond_the_end_are_absent(tmp_path):
    write_root(tmp_path, [trade_on(walk(1500), 1400, 1499)])
    arrays, _ = build(tmp_path, CONFIG)
    assert np.isnan(arrays["future_prices"][1])
    assert np.isnan(arrays["next_candles"][1, 0]).all()
    assert np.isnan(arrays["pivots"][1]).all()


def test_gaps_are_empty_places_counted_and_no_next_candle(tmp_path):
    primary = write_root(tmp_path, [trade_on(walk(1500), 700, 760)])
    kept = np.setdiff1d(np.arange(1500), [750, 751, 761])
    write_candles(tmp_path, "SIM/ETH", Candles("1m", primary.open_time[kept], primary.values[kept]))
    arrays, report = build(tmp_path, CONFIG)
    assert np.flatnonzero(np.isnan(arrays["price_data"][1, 0, :, 0])).tolist() == [29, 30]
    assert np.isnan(arrays["next_candles"][1, 0]).all()
    assert not np.isnan(arrays["next_candles"][0]).any()
    assert (report["gap_samples"], report["gap_bars"]["SIM/ETH 1m"]) == (1, 2)
    assert len(report["warnings"]) == 1


@pytest.mark.parametrize("trades", [1, 4, 5, 11])
def test_few_trades_work(tmp_path, trades):
    primary = walk(1500)
    write_root(tmp_path, [trade_on(primary, 700 + 50 * number, 720 + 50 * number) for number in range(trades)])
    calls: list[tuple[int, int]] = []
    arrays, report = build(tmp_path, CONFIG, lambda done, total: calls.append((done, total)))
    assert report["samples"] == len(arrays["actions"]) == 5 * trades
    assert calls[-1] == (5 * trades, 5 * trades)
    assert report["split"]["train"] > 0 or report["split"]["purged"] > 0


def test_annotations_out_of_order_make_the_same_samples(tmp_path, walked):
    primary, arrays, _ = walked
    rows = [
        {**trade_on(primary, 900, 911, "short"), "stop_price": ""},
        {**trade_on(primary, 700, 760), "stop_price": "90"},
    ]
    write_root(tmp_path, rows)
    again, _ = build(tmp_path, CONFIG)
    np.testing.assert_array_equal(again["decision_time"], arrays["decision_time"])


def test_the_same_samples_are_the_same_bytes(tmp_path, walked):
    _, arrays, _ = walked
    for name in ("one.npz", "two.npz"):
        save_samples(tmp_path / name, dict(sorted(arrays.items(), reverse=name == "two.npz")))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npz", "two.npz"]
    loaded = load_samples(tmp_path / "one.npz")
    for name, values in arrays.items():
        np.testing.assert_array_equal(loaded[name], values)


def test_a_file_of_samples_runs_nothing(tmp_path):
    np.savez(tmp_path / "objects.npz", actions=np.array([{"a": 1}], object))
    (tmp_path / "text.npz").write_text("no samples")
    for name in ("objects.npz", "text.npz", "missing.npz"):
        with pytest.raises(ValueError, match=name):
            load_samples(tmp_path / name)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seq_len": 9}, "seq_len is 9, expected 10 to 600"),
        ({"seq_len": 601}, "seq_len is 601, expected 10 to 600"),
        ({"pivot_levels": 6}, "pivot_levels is 6, expected 1 to 5"),
        ({"train_fraction": 0.8, "validation_fraction": 0.2}, "are 1 together, expected below 1"),
    ],
)
def test_a_config_out_of_bounds_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        PreprocessConfig(**values)


def test_a_decision_in_another_order_of_columns_is_the_same(tmp_path, walked):
    primary, arrays, _ = walked
    write_root(tmp_path)
    rows = [
        {**trade_on(primary, 700, 760), "stop_price": "90"},
        {**trade_on(primary, 900, 911, "short"), "stop_price": ""},
    ]
    write_trades(tmp_path, [dict(reversed(row.items())) for row in rows])
    np.testing.assert_array_equal(build(tmp_path, CONFIG)[0]["position_state"], arrays["position_state"])
