"""What a registered model says at a moment: its answer in prices and times, with what it was allowed to see."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flows import models
from flows.library import folder
from flows.project import find_project
from flows.runfile import check_run_id, read
from flows.versionview import VersionView

if TYPE_CHECKING:
    from dataset.config import PreprocessConfig
    from dataset.observation import Market
    from model.serving import Predictor

CHAMPION = "champion"


@dataclass(frozen=True, kw_only=True, slots=True)
class NextCandle:
    """The candle that a model expects next on a stream."""

    stream: str
    open_time: int
    open: float
    high: float
    low: float
    close: float


@dataclass(frozen=True, kw_only=True, slots=True)
class NextPivot:
    """The swing point of a level that a model expects next."""

    level: int
    time: int
    bars: float
    price: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """One answer. Times are seconds since 1970; what a kind of network does not answer is None or empty."""

    version: int
    run_id: str
    dataset_version: str  # that the candles were taken from
    trained_on: str  # dataset version
    symbol: str
    time: int
    seen_until: int  # close of the last candle that was seen
    price: float  # of that candle's close
    action: str
    probabilities: dict[str, float]
    confidence: float | None
    horizon_bars: int
    price_return: float | None  # over the horizon
    trade_success: float | None
    held: str | None  # annotation whose open position was assumed; flat if None
    next_candles: tuple[NextCandle, ...]
    pivots: tuple[NextPivot, ...]


def predict(
    version: int | str, time: int, symbol: str = "", dataset_version: str = "", as_if_flat: bool = False
) -> Prediction:
    """What a version (a number or `champion`) says at a time, on its own dataset unless another one is named.

    Inside an annotated trade its position is assumed, as in the samples of a training, unless `as_if_flat`.
    Raises ValueError for an unknown version, symbol or time, ServiceDownError when MLflow is needed and down.
    """
    from dataset.annotations import read_annotations
    from dataset.question import open_trade
    from dataset.schema import read_info

    chosen = view(version)
    root = folder(dataset_version or chosen.dataset_version)
    info = read_info(root)
    held = None if as_if_flat else open_trade(read_annotations(root)[0], symbol or info.primary, time)
    place = (str(models.model_folder(chosen.version)), chosen.weights_sha256)
    source = (str(root), dataset_version or chosen.dataset_version)
    return answer(chosen, place, source, symbol or info.primary, time, held)


def view(version: int | str) -> VersionView:
    known = models.versions()
    wanted = str(version).strip()
    for entry in known:
        if wanted == str(entry.version) or wanted in entry.aliases:
            return entry
    names = ", ".join(str(entry.version) for entry in known) or "none yet"
    raise ValueError(f"version {wanted!r} is not registered, expected {CHAMPION} or one of: {names}")


def answer(
    chosen: VersionView, place: tuple[str, str], source: tuple[str, str], symbol: str, time: int, held: Any
) -> Prediction:
    """The answer for one question: the same features as in training, and nothing that closed after `time`."""
    from dataset.question import following_prices, question

    config, seen, asked = settings(chosen.run_id), market(*source, symbol), predictor(*place)
    said = asked.predict(question(seen, time, config, held))
    primary = seen.streams[0]
    last = int(primary.last_visible(np.array([time]))[0])
    seen_until, close = int(primary.close_time[last]), float(primary.values[last, 3])
    following = asked.scaler.following(said["next_candles"])[0] if "next_candles" in said else None
    candles = [] if following is None else following_prices(seen, time, following)
    return Prediction(
        version=chosen.version,
        run_id=chosen.run_id,
        dataset_version=source[1],
        trained_on=chosen.dataset_version,
        symbol=symbol,
        time=time,
        seen_until=seen_until,
        price=close,
        action=said["action"][0],
        probabilities=shares(said),
        confidence=single(said, "confidence"),
        horizon_bars=config.horizon_bars,
        price_return=single(said, "price"),
        trade_success=single(said, "trade_success"),
        held=held.annotation_id if held else None,
        next_candles=tuple(
            NextCandle(stream=name, open_time=opened, open=o, high=h, low=low, close=c)
            for name, opened, (o, h, low, c, _) in candles
        ),
        pivots=pivots(said, config, seen_until - primary.step_s, primary.step_s, close),
    )


def shares(said: dict[str, Any]) -> dict[str, float]:
    from model.losses import ACTIONS

    return {name: float(share) for name, share in zip(ACTIONS, said["probabilities"][0], strict=True)}


def single(said: dict[str, Any], name: str) -> float | None:
    return float(said[name][0, 0]) if name in said else None


def pivots(
    said: dict[str, Any], config: "PreprocessConfig", opened: int, step_s: int, close: float
) -> tuple[NextPivot, ...]:
    """Swing points as prices and times; one that would lie in the past is said to come with the next candle."""
    from math import exp

    found = []
    for level, (distance, share) in enumerate(said.get("pivots", [[]])[0], start=1):
        bars = max(1.0, float(share) * config.pivot_horizon_bars)
        time = opened + round(bars) * step_s
        found.append(NextPivot(level=level, time=time, bars=bars, price=close * exp(float(distance))))
    return tuple(found)


def settings(run_id: str) -> "PreprocessConfig":
    """How the samples of a run were made. Raises ValueError when the run is not here any more."""
    from dataset.config import PreprocessConfig

    project = find_project()
    record = read(project.workspace(check_run_id(run_id))) if run_id else None
    if not record:
        raise ValueError(f"run {run_id or 'of this version'}: its settings are not here any more; train it again")
    return PreprocessConfig(**record["params"]["preprocess"])


@lru_cache(maxsize=4)
def predictor(folder: str, weights_sha256: str) -> "Predictor":
    """A loaded model, kept for the next question; the hash only names what is cached."""
    from model.serving import Predictor

    return Predictor(Path(folder))


@lru_cache(maxsize=4)
def market(root: str, dataset_version: str, symbol: str) -> "Market":
    """A market with its indicators, kept for the next question; the version only names what is cached."""
    from dataset.observation import load_market
    from dataset.schema import read_info

    return load_market(Path(root), read_info(Path(root)), symbol)
