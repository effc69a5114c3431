"""30 features of the market around a trade: reference symbol, time of day and week, regime.

Computed at every candle of the primary stream as of its close. The reference is joined by what was visible then;
a reference candle that was still open is never seen.
"""

import numpy as np
import talib
from talib import MA_Type

from dataset.candles import CLOSE, HIGH, VOLUME, Candles
from dataset.features import log_return, ratio

RETURN_BARS = (1, 5, 15, 60, 240)
DAY_S, WEEK_S = 86400, 7 * 86400
THURSDAY = 3  # 1 January 1970, counted from Monday
SESSIONS = {"asia": (0, 8), "europe": (7, 16), "america": (13, 22)}  # UTC hours, rough trading days

_REFERENCE = (
    *(f"reference_return_{bars}" for bars in RETURN_BARS),
    "reference_rsi_14",
    "reference_atr_14",
    "reference_band_position",
    "reference_ema_50_distance",
    "reference_volume_ratio",
)
_RELATION = ("correlation_60", "correlation_240", "beta_240", "strength_15", "strength_60", "strength_240")
_SESSION = ("day_sin", "day_cos", "week_sin", "week_cos", "weekend", *SESSIONS)
_REGIME = ("volatility_ratio", "efficiency_60", "adx_60", "below_day_high", "above_day_low", "volume_regime")
MARKET_FEATURES = _REFERENCE + _RELATION + _SESSION + _REGIME


def market_features(primary: Candles, reference: Candles) -> np.ndarray:
    """(N, 30) float64 at the N candles of the primary stream; NaN where the history is too short."""
    visible = reference.last_visible(primary.close_time)
    columns = [
        *_at(_reference(reference), visible),
        *_relation(primary, _at([reference.values[:, CLOSE]], visible)[0]),
        *_session(primary.close_time),
        *_regime(primary),
    ]
    return np.stack(columns, axis=1)


def _at(columns: list[np.ndarray], visible: np.ndarray) -> list[np.ndarray]:
    """Each column as it was visible at every primary candle, NaN before the first."""
    return [np.where(visible >= 0, column[visible], np.nan) for column in columns]


def _reference(candles: Candles) -> list[np.ndarray]:
    """The columns of `_REFERENCE` at the reference's own candles."""
    high, low, close, volume = np.ascontiguousarray(candles.values[:, HIGH : VOLUME + 1].T)
    upper, _, lower = talib.BBANDS(close, 20, 2.0, 2.0, MA_Type.SMA)
    return [
        *(log_return(close, bars) for bars in RETURN_BARS),
        talib.RSI(close, 14) / 100,
        talib.ATR(high, low, close, 14) / close,
        ratio(close - lower, upper - lower),
        np.log(close / talib.EMA(close, 50)),
        np.log1p(ratio(volume, talib.SMA(volume, 20))),
    ]


def _relation(primary: Candles, reference_close: np.ndarray) -> list[np.ndarray]:
    """How the primary symbol moves with the reference: the columns of `_RELATION`."""
    close = np.ascontiguousarray(primary.values[:, CLOSE])
    own, other = log_return(close, 1), log_return(reference_close, 1)
    correlation = [_correlation(own, other, bars) for bars in (60, 240)]
    spread = [_deviation(series, 240) for series in (own, other)]
    beta = correlation[1] * ratio(spread[0], spread[1])
    strength = [log_return(close, bars) - log_return(reference_close, bars) for bars in (15, 60, 240)]
    return [*correlation, beta, *strength]


def _mean(series: np.ndarray, bars: int) -> np.ndarray:
    """(N,) mean over the last `bars` values; NaN until there are as many."""
    enough = np.count_nonzero(~np.isnan(series)) >= bars  # TA-Lib refuses a series that is all NaN
    return talib.SMA(series, bars) if enough else np.full(len(series), np.nan)


def _deviation(series: np.ndarray, bars: int) -> np.ndarray:
    """(N,) standard deviation over the last `bars` values."""
    return np.sqrt(np.maximum(_mean(series**2, bars) - _mean(series, bars) ** 2, 0))


def _correlation(first: np.ndarray, second: np.ndarray, bars: int) -> np.ndarray:
    """(N,) correlation over the last `bars` values, 0 where one of them stands still."""
    covariance = _mean(first * second, bars) - _mean(first, bars) * _mean(second, bars)
    return np.clip(ratio(covariance, _deviation(first, bars) * _deviation(second, bars)), -1, 1)


def _session(times: np.ndarray) -> list[np.ndarray]:
    """The columns of `_SESSION` at times in seconds UTC."""
    day = times % DAY_S / DAY_S
    week = (times + THURSDAY * DAY_S) % WEEK_S / WEEK_S
    hour = day * 24
    waves = [wave(2 * np.pi * part) for part in (day, week) for wave in (np.sin, np.cos)]
    open_now = [(start <= hour) & (hour < end) for start, end in SESSIONS.values()]
    return [*waves, *(flag.astype(np.float64) for flag in (week >= 5 / 7, *open_now))]


def _regime(candles: Candles) -> list[np.ndarray]:
    """What kind of market it is: the columns of `_REGIME`. A day is 1,440 candles of the usual one minute."""
    high, low, close, volume = np.ascontiguousarray(candles.values[:, HIGH : VOLUME + 1].T)
    returns = log_return(close, 1)
    path = _mean(np.abs(returns), 60) * 60
    return [
        np.log1p(ratio(_deviation(returns, 60), _deviation(returns, 1440))),
        np.clip(ratio(np.abs(log_return(close, 60)), path), 0, 1),
        talib.ADX(high, low, close, 60) / 100,
        np.log(close / talib.MAX(high, 1440)),
        np.log(close / talib.MIN(low, 1440)),
        np.log1p(np.maximum(ratio(talib.SMA(volume, 60), talib.SMA(volume, 1440)), 0)),
    ]
