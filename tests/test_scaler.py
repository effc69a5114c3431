"""The scaler knows the training samples only, and does the same wherever it is used."""

import numpy as np
import pytest

from dataset.scaler import AXES, fit, from_json


def _arrays(samples: int = 6) -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    shapes = {"price_data": (3, 7, 5), "cob_data": (7, 100), "tech_data": (40,), "market_data": (30,)}
    arrays = {name: random.normal(3, 2, (samples, *shape)) for name, shape in shapes.items()}
    position = np.array([[0, 0, 0, 0, 0], [1, -1, 0.02, 3, 0.5]] * (samples // 2), float)
    return {**arrays, "position_state": position, "next_candles": random.normal(3, 2, (samples, 3, 5))}


def test_only_training_samples_are_fitted():
    arrays, other = _arrays(), _arrays()
    for name in AXES:
        other[name][4:] *= 1000
    train = np.arange(4)
    assert fit(arrays, train).to_json() == fit(other, train).to_json()


def test_training_samples_have_mean_0_and_deviation_1():
    arrays = _arrays(40)
    scaled = fit(arrays, np.arange(40)).apply(arrays)
    for name in ("price_data", "cob_data", "tech_data", "market_data"):
        np.testing.assert_allclose(scaled[name].mean(axis=AXES[name]), 0, atol=1e-5)
        np.testing.assert_allclose(scaled[name].std(axis=AXES[name]), 1, atol=1e-3)
        assert scaled[name].dtype == np.float32


def test_next_candles_are_scaled_as_prices():
    arrays = _arrays()
    arrays["next_candles"] = arrays["price_data"][:, :, -1].copy()
    scaled = fit(arrays, np.arange(4)).apply(arrays)
    np.testing.assert_array_equal(scaled["next_candles"], scaled["price_data"][:, :, -1])


def test_what_is_absent_is_0_and_masked_and_not_fitted():
    arrays, train = _arrays(), np.arange(6)
    arrays["price_data"][2, 1, :3] = np.nan
    arrays["cob_data"][:] = np.nan
    arrays["tech_data"][3, 4] = np.nan
    scaled = fit(arrays, train).apply(arrays)
    assert not scaled["price_data"][2, 1, :3].any()
    assert scaled["price_mask"].sum() == 6 * 3 * 7 - 3
    assert not scaled["price_mask"][2, 1, :3].any()
    assert not scaled["cob_data"].any()
    assert not scaled["cob_mask"].any()
    assert scaled["tech_data"][3, 4] == 0


def test_a_flat_position_stays_zero_and_flags_stay_flags():
    scaled = fit(_arrays(), np.arange(6)).apply(_arrays())["position_state"]
    assert not scaled[0].any()
    assert scaled[1, :2].tolist() == [1, -1]


def test_outliers_are_clipped_and_constant_features_stay_finite():
    arrays, train = _arrays(), np.arange(4)
    arrays["tech_data"][5] = 1e30
    arrays["market_data"][:] = 7
    scaled = fit(arrays, train).apply(arrays)
    assert (scaled["tech_data"][5] == 10).all()
    assert not scaled["market_data"].any()


def test_json_gives_back_the_same_bits():
    arrays = _arrays()
    scaler = fit(arrays, np.arange(4))
    again = from_json(scaler.to_json())
    assert again.to_json() == scaler.to_json()
    for name, values in scaler.apply(arrays).items():
        np.testing.assert_array_equal(again.apply(arrays)[name], values)


def test_a_scaler_refuses_what_it_was_not_fitted_on():
    scaler = fit(_arrays(), np.arange(4))
    with pytest.raises(ValueError, match="tech_data has shape"):
        scaler.apply({**_arrays(), "tech_data": np.zeros((6, 39))})
    with pytest.raises(ValueError, match="no training sample"):
        fit(_arrays(), np.arange(0))


@pytest.mark.parametrize("text", ["{}", "[]", "no json", '{"price_data": 3}'])
def test_a_broken_scaler_file_is_refused(text):
    with pytest.raises(ValueError, match="the scaler cannot be read"):
        from_json(text)
