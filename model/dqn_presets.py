"""The sizes the DQN's network comes in: one frozen config, one function a preset."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from dataset.bounds import check, setting


@dataclass(frozen=True, kw_only=True, slots=True)
class DqnConfig:
    """Everything that decides the shape of the action-value network; lies beside its weights as JSON."""

    kind: str = setting("dqn", "Which network is built.", choices=("dqn",))
    preset: str = setting("base", "The name this config started from.")
    hidden: int = setting(128, "Width of every hidden layer.", minimum=1, maximum=8192)
    window_bars: int = setting(16, "Newest candles it looks at.", minimum=1, maximum=600, unit="bars")
    streams: int = setting(5, "Candle streams: timeframes plus the reference symbol.", minimum=1, maximum=16)
    seq_len: int = setting(200, "Candles a stream in the samples.", minimum=10, maximum=600, unit="bars")
    cob_features: int = setting(100, "Order book features of a candle.", minimum=1, maximum=4096)
    tech_features: int = setting(40, "Technical indicators.", minimum=1, maximum=4096)
    market_features: int = setting(30, "Market features.", minimum=1, maximum=4096)
    position_features: int = setting(5, "Features of the open position.", minimum=4, maximum=4096)
    pivot_levels: tuple[int, ...] = setting((1, 2, 3), "Levels of pivots in the samples.", minimum=1, maximum=5)

    def __post_init__(self) -> None:
        check(self)


def base() -> DqnConfig:
    """The default: learns thousands of steps a minute on a CPU."""
    return DqnConfig()


def wide() -> DqnConfig:
    """Twice as wide, for more trades than a few dozen."""
    return replace(base(), preset="wide", hidden=256)


def lite() -> DqnConfig:
    """Half as wide."""
    return replace(base(), preset="lite", hidden=64)


PRESETS: dict[str, Callable[[], DqnConfig]] = {"base": base, "wide": wide, "lite": lite}
