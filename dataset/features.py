"""40 technical indicators of the primary stream, at every candle from that candle and older ones only.

Every indicator runs forward over the whole history once: TA-Lib looks back, never ahead, so the value at a candle
is the same whatever follows. All are free of the price level; NaN where the history is too short.
"""

import numpy as np
import talib
from talib import MA_Type

from dataset.candles import Candles

RETURN_BARS = (1, 5, 15, 60, 240)
EMA_BARS = (9, 21, 50, 200)


def tech_features(candles: Candles) -> np.ndarray:
    """(N, 40) float64, one column for each of `TECH_FEATURES`."""
    columns = _columns(candles)
    return np.stack([columns[name] for name in TECH_FEATURES], axis=1)


def _columns(candles: Candles) -> dict[str, np.ndarray]:
    """Every indicator by name."""
    open_, high, low, close, volume = np.ascontiguousarray(candles.values.T)
    atr = talib.ATR(high, low, close, 14)
    return {
        **{f"return_{bars}": log_return(close, bars) for bars in RETURN_BARS},
        **_oscillators(high, low, close, volume),
        **_trend(high, low, close, atr),
        **_volatility(high, low, close, atr),
        **_volume(high, low, close, volume),
        **_shape(open_, high, low, close),
    }


def log_return(close: np.ndarray, bars: int) -> np.ndarray:
    """(N,) log return over the last `bars` candles."""
    result = np.full(len(close), np.nan)
    result[bars:] = np.log(close[bars:] / close[:-bars])
    return result


def ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """top / bottom, and 0 where the bottom is 0, as in candles without range or trading."""
    flat = bottom == 0
    return np.where(flat, bottom, top / np.where(flat, 1.0, bottom))


def _oscillators(high: np.ndarray, low: np.ndarray, close: np.ndarray, volume: np.ndarray) -> dict[str, np.ndarray]:
    slow_k, slow_d = talib.STOCH(high, low, close, 14, 3, MA_Type.SMA, 3, MA_Type.SMA)
    return {
        "rsi_14": talib.RSI(close, 14) / 100,
        "rsi_60": talib.RSI(close, 60) / 100,
        "stoch_k": slow_k / 100,
        "stoch_d": slow_d / 100,
        "williams_r_14": talib.WILLR(high, low, close, 14) / 100,
        "cci_20": talib.CCI(high, low, close, 20) / 100,
        "mfi_14": talib.MFI(high, low, close, volume, 14) / 100,
        "ultimate": talib.ULTOSC(high, low, close, 7, 14, 28) / 100,
    }


def _trend(high: np.ndarray, low: np.ndarray, close: np.ndarray, atr: np.ndarray) -> dict[str, np.ndarray]:
    macd, signal, histogram = talib.MACD(close, 12, 26, 9)
    return {
        "macd": ratio(macd, atr),
        "macd_signal": ratio(signal, atr),
        "macd_histogram": ratio(histogram, atr),
        "adx_14": talib.ADX(high, low, close, 14) / 100,
        "plus_di_14": talib.PLUS_DI(high, low, close, 14) / 100,
        "minus_di_14": talib.MINUS_DI(high, low, close, 14) / 100,
        "aroon_25": talib.AROONOSC(high, low, 25) / 100,
        "sar_distance": ratio(close - talib.SAR(high, low, 0.02, 0.2), atr),
        "slope_20": ratio(talib.LINEARREG_SLOPE(close, 20), atr),
        **{f"ema_{bars}_distance": np.log(close / talib.EMA(close, bars)) for bars in EMA_BARS},
    }


def _volatility(high: np.ndarray, low: np.ndarray, close: np.ndarray, atr: np.ndarray) -> dict[str, np.ndarray]:
    upper, _, lower = talib.BBANDS(close, 20, 2.0, 2.0, MA_Type.SMA)
    top, bottom = talib.MAX(high, 60), talib.MIN(low, 60)
    return {
        "band_position": ratio(close - lower, upper - lower),
        "band_width": (upper - lower) / close,
        "atr_14": atr / close,
        "atr_60": talib.ATR(high, low, close, 60) / close,
        "range_position_60": ratio(close - bottom, top - bottom),
    }


def _volume(high: np.ndarray, low: np.ndarray, close: np.ndarray, volume: np.ndarray) -> dict[str, np.ndarray]:
    traded = talib.SMA(volume, 20)
    signed = np.sign(np.diff(close, prepend=close[:1])) * volume
    flow = ratio(2 * close - high - low, high - low) * volume
    return {
        "volume_ratio_20": np.log1p(ratio(volume, traded)),
        "volume_ratio_240": np.log1p(ratio(volume, talib.SMA(volume, 240))),
        # The bounds hold in exact arithmetic; running sums of idle hours leave rests that would break them.
        "signed_volume_20": np.clip(ratio(talib.SMA(signed, 20), traded), -1, 1),
        "money_flow_20": np.clip(ratio(talib.SMA(flow, 20), traded), -1, 1),
        "volume_trend": np.clip(ratio(talib.SMA(volume, 5), traded), 0, 4),
    }


def _shape(open_: np.ndarray, high: np.ndarray, low: np.ndarray, close: np.ndarray) -> dict[str, np.ndarray]:
    span = high - low
    return {
        "body": ratio(close - open_, span),
        "upper_wick": ratio(high - np.maximum(open_, close), span),
        "lower_wick": ratio(np.minimum(open_, close) - low, span),
        "span": span / close,
    }


TECH_FEATURES = (
    *(f"return_{bars}" for bars in RETURN_BARS),
    "rsi_14",
    "rsi_60",
    "stoch_k",
    "stoch_d",
    "williams_r_14",
    "cci_20",
    "mfi_14",
    "ultimate",
    "macd",
    "macd_signal",
    "macd_histogram",
    "adx_14",
    "plus_di_14",
    "minus_di_14",
    "aroon_25",
    "sar_distance",
    "slope_20",
    *(f"ema_{bars}_distance" for bars in EMA_BARS),
    "band_position",
    "band_width",
    "atr_14",
    "atr_60",
    "range_position_60",
    "volume_ratio_20",
    "volume_ratio_240",
    "signed_volume_20",
    "money_flow_20",
    "volume_trend",
    "body",
    "upper_wick",
    "lower_wick",
    "span",
)
