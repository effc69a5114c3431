"""The sizes the CNN comes in: one frozen config, one function a preset."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from dataset.bounds import check, setting


@dataclass(frozen=True, kw_only=True, slots=True)
class CnnConfig:
    """Everything that decides the shape of a CNN; lies beside its weights as JSON."""

    kind: str = setting("cnn", "Which network is built.", choices=("cnn",))
    preset: str = setting("base", "The name this config started from.")
    widths: tuple[int, ...] = setting(
        (64, 128, 128, 128), "Channels after each convolution; each halves the candles.", minimum=1, maximum=4096
    )
    kernel_bars: int = setting(5, "Candles that a convolution sees at once; odd.", minimum=1, maximum=61, unit="bars")
    hidden: int = setting(128, "Width of the layers around the convolutions.", minimum=1, maximum=8192)
    dropout: float = setting(0.1, "Share of values dropped in training.", minimum=0.0, maximum=0.9)
    streams: int = setting(5, "Candle streams: timeframes plus the reference symbol.", minimum=1, maximum=16)
    seq_len: int = setting(200, "Candles a stream in the samples.", minimum=10, maximum=600, unit="bars")
    cob_features: int = setting(100, "Order book features of a candle.", minimum=1, maximum=4096)
    tech_features: int = setting(40, "Technical indicators.", minimum=1, maximum=4096)
    market_features: int = setting(30, "Market features.", minimum=1, maximum=4096)
    position_features: int = setting(5, "Features of the open position.", minimum=1, maximum=4096)
    pivot_levels: tuple[int, ...] = setting((1, 2, 3), "Levels of pivots in the samples.", minimum=1, maximum=5)

    def __post_init__(self) -> None:
        check(self)
        if not 1 <= len(self.widths) <= 8:
            raise ValueError(f"widths are {self.widths}, expected 1 to 8 numbers")
        if self.kernel_bars % 2 == 0:
            raise ValueError(f"kernel_bars is {self.kernel_bars}, expected an odd number")


def base() -> CnnConfig:
    """The default: trains in seconds on a CPU."""
    return CnnConfig()


def wide() -> CnnConfig:
    """Twice the channels, for more data than a few hundred samples."""
    return replace(base(), preset="wide", widths=(128, 256, 256, 256), hidden=256)


def lite() -> CnnConfig:
    """Half the channels and one convolution more, so that far fewer numbers reach the head."""
    return replace(base(), preset="lite", widths=(32, 64, 64, 64, 64), hidden=64)


PRESETS: dict[str, Callable[[], CnnConfig]] = {"base": base, "wide": wide, "lite": lite}
