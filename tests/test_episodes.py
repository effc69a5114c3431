"""Episodes: which candles they hold, what is seen at each, and where they are cut, split and purged."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from data_root import trade_on, walk, write_root

from dataset import scaler
from dataset.config import PreprocessConfig
from dataset.episodes import build_episodes, scaled
from dataset.samples import build

CONFIG = PreprocessConfig(seq_len=10, episode_lead_bars=4, episode_tail_bars=3, episode_window_bars=6)
WALK = walk(1500)
TRADES = [trade_on(WALK, 700, 720), trade_on(WALK, 900, 930, "short"), trade_on(WALK, 1100, 1110)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "root"
    write_root(folder, TRADES)
    return folder


def test_an_episode_runs_from_a_while_before_the_entry_to_a_while_after_the_exit(root: Path) -> None:
    samples, _ = build(root, CONFIG)
    found = build_episodes(root, CONFIG, samples)
    assert found["length"].tolist() == [4 + 20 + 1 + 3, 4 + 30 + 1 + 3, 4 + 10 + 1 + 3]
    assert np.array_equal(found["price"][:28], WALK.values[696:724, 3])
    assert found["whole"].all()
    assert found["split"].tolist() == [0, 1, 2]
    shapes = {name: found[name].shape[1:] for name in ("price_data", "cob_data", "tech_data", "market_data")}
    assert shapes == {"price_data": (4, 6, 5), "cob_data": (1, 100), "tech_data": (40,), "market_data": (30,)}


def test_a_step_sees_what_a_sample_of_that_moment_sees(root: Path) -> None:
    samples, _ = build(root, CONFIG)
    found = build_episodes(root, CONFIG, samples)
    entry = 4  # the first trade's entry sample decides after four candles of its episode
    assert np.array_equal(found["price_data"][entry], samples["price_data"][0][:, -6:], equal_nan=True)
    assert np.array_equal(found["cob_data"][entry], samples["cob_data"][0][-1:], equal_nan=True)
    assert np.array_equal(found["tech_data"][entry], samples["tech_data"][0], equal_nan=True)
    assert np.array_equal(found["market_data"][entry], samples["market_data"][0], equal_nan=True)


def test_steps_are_scaled_as_the_samples_are(root: Path) -> None:
    samples, _ = build(root, CONFIG)
    fitted = scaler.fit(samples, np.arange(5))
    found, own = scaled(build_episodes(root, CONFIG, samples), fitted), fitted.apply(samples)
    assert np.array_equal(found["price_data"][4], own["price_data"][0][:, -6:])
    assert not any(np.isnan(found[name]).any() for name in ("price_data", "cob_data", "tech_data", "market_data"))
    assert found["position_deviation"].shape == (5,)


def test_a_long_episode_is_cut_and_says_so(root: Path) -> None:
    samples, _ = build(root, CONFIG)
    found = build_episodes(root, replace(CONFIG, episode_max_bars=20), samples)
    assert found["length"].tolist() == [20, 20, 18]
    assert found["whole"].tolist() == [False, False, True]


def test_an_episode_that_reaches_into_the_next_split_is_purged(root: Path) -> None:
    samples, _ = build(root, CONFIG)
    long_tail = replace(CONFIG, episode_tail_bars=200)  # the first one ends after the second one begins
    assert build_episodes(root, long_tail, samples)["split"].tolist() == [-1, -1, 2]


def test_a_trade_without_samples_has_no_episode_and_moves_no_border(root: Path) -> None:
    samples, _ = build(root, CONFIG)
    without = {name: values[samples["trade"] != 1] for name, values in samples.items()}
    assert build_episodes(root, CONFIG, without)["trade"].tolist() == [0, 2]
