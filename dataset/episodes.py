"""Episodes: every candle from a while before a trade to a while after it, for a policy that acts candle by candle.

Legend: E episodes, N steps of all episodes in a row, T streams, W candles seen at a step.
"""

from pathlib import Path

import numpy as np

from dataset.annotations import Annotation, by_entry, read_annotations
from dataset.config import PreprocessConfig
from dataset.observation import Market, last_close, load_market, observe
from dataset.position import flat
from dataset.scaler import Scaler
from dataset.schema import read_info
from dataset.split import split

Arrays = dict[str, np.ndarray]
OBSERVED = ("price_data", "cob_data", "tech_data", "market_data")


def build_episodes(root: Path, config: PreprocessConfig, samples: Arrays) -> Arrays:
    """One episode for each trade that has a sample, in order of trade, unscaled and with its split.

    By step: price_data (N, T, W, 5), cob_data (N, 1, 100), tech_data (N, 40), market_data (N, 30), price (N,), the
    last close. By episode: trade, length, whole (false: the market went on, the episode was cut) and split, (E,) each.
    The data root must be valid, and the samples those of this root. Raises ValueError if there is no episode.
    """
    info, trades = read_info(root), by_entry(read_annotations(root)[0])
    numbers = [int(number) for number in np.unique(samples["trade"])]
    markets = {symbol: load_market(root, info, symbol) for symbol in {trades[number].symbol for number in numbers}}
    times = [_steps(markets[trades[number].symbol], trades[number], config) for number in numbers]
    kept = [(number, *found) for number, found in zip(numbers, times, strict=True) if len(found[0]) > 1]
    if not kept:
        raise ValueError("no trade has two candles to act on, expected at least one such trade")
    parts = [_observed(markets[trades[number].symbol], steps, config) for number, steps, _ in kept]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in [*OBSERVED, "price"]}
    starts = {number: int(samples["decision_time"][samples["trade"] == number].min()) for number in numbers}
    return {
        **arrays,
        "trade": np.array([number for number, _, _ in kept], np.int64),
        "length": np.array([len(steps) for _, steps, _ in kept], np.int64),
        "whole": np.array([whole for _, _, whole in kept], bool),
        "split": _split(kept, starts, config, next(iter(markets.values())).streams[0].step_s),
    }


def scaled(episodes: Arrays, scaler: Scaler) -> Arrays:
    """The episodes in the scale of the samples; position_deviation (5,) scales the positions that a policy takes."""
    count = len(episodes["price"])
    features = {name: episodes[name] for name in OBSERVED} | {"position_state": np.zeros((count, len(flat())))}
    applied = scaler.apply(features)
    deviation = scaler.deviation["position_state"].reshape(-1)
    return {**episodes, **{name: applied[name] for name in OBSERVED}, "position_deviation": deviation}


def _steps(market: Market, trade: Annotation, config: PreprocessConfig) -> tuple[np.ndarray, bool]:
    """When the candles of an episode closed, and whether these are all of them."""
    candles = market.streams[0]
    first = trade.entry_time - config.episode_lead_bars * candles.step_s
    last = trade.exit_time + config.episode_tail_bars * candles.step_s
    closes = candles.close_time
    # Nothing is seen before all streams have a candle.
    known = max(int(stream.close_time[0]) for stream in market.streams)
    found = closes[(closes >= max(first, known)) & (closes <= last)]
    return found[: config.episode_max_bars], len(found) <= config.episode_max_bars


def _observed(market: Market, steps: np.ndarray, config: PreprocessConfig) -> Arrays:
    """What is seen at each step of one episode, and the price at which one can trade there."""
    seen = observe(market, steps, config.episode_window, config.book_max_age_bars)
    return {**seen, "cob_data": seen["cob_data"][:, -1:], "price": last_close(market.streams[0], steps)}


def _split(
    kept: list[tuple[int, np.ndarray, bool]], starts: dict[int, int], config: PreprocessConfig, step_s: int
) -> np.ndarray:
    """(E,) the split of the trades' samples; an episode that would look across a border is purged like a sample.

    Trades without an episode keep their place, so that both splits have the same borders.
    """
    ends = {number: int(steps[-1]) for number, steps, _ in kept}
    first = {number: min(int(steps[0]), starts[number]) for number, steps, _ in kept}
    order = sorted(starts)
    rows = {
        "trade": np.array(order, np.int64),
        "decision_time": np.array([first.get(number, starts[number]) for number in order], np.int64),
        "label_end_time": np.array([ends.get(number, starts[number]) for number in order], np.int64),
    }
    found, _ = split(rows, config.train_fraction, config.validation_fraction, config.embargo_bars * step_s)
    return found[np.isin(order, list(ends))]
