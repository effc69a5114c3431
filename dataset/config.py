"""How annotations become samples: the section `preprocess` of the params."""

from dataclasses import dataclass

from dataset.bounds import check, setting


@dataclass(frozen=True, kw_only=True, slots=True)
class PreprocessConfig:
    """Windows, samples a trade, labels and split. A bar is one candle of the primary stream."""

    seq_len: int = setting(200, "candles of a window", minimum=10, maximum=600, unit="bars")
    horizon_bars: int = setting(15, "how far the price label looks ahead", minimum=1, maximum=1440, unit="bars")
    holds_per_trade: int = setting(2, "hold samples inside a trade", minimum=0, maximum=50)
    no_trades_per_trade: int = setting(1, "no-trade samples before a trade", minimum=0, maximum=50)
    no_trade_gap_bars: int = setting(30, "step of the walk back to a no-trade", minimum=1, maximum=1440, unit="bars")
    pivot_bars: int = setting(5, "candles on each side of a level-1 pivot", minimum=1, maximum=100, unit="bars")
    pivot_levels: int = setting(3, "levels of nested pivots", minimum=1, maximum=5)
    pivot_horizon_bars: int = setting(240, "how far pivots are looked for", minimum=1, maximum=10000, unit="bars")
    train_fraction: float = setting(0.7, "share of trades, oldest first, to train on", minimum=0.1, maximum=0.9)
    validation_fraction: float = setting(0.15, "share of trades to stop and choose by", minimum=0.05, maximum=0.5)
    embargo_bars: int = setting(
        15, "distance between a label and the next split", minimum=0, maximum=10000, unit="bars"
    )
    book_max_age_bars: int = setting(10, "age at which a book is no longer used", minimum=0, maximum=1440, unit="bars")
    episode_lead_bars: int = setting(30, "candles of an episode before its entry", minimum=0, maximum=1440, unit="bars")
    episode_tail_bars: int = setting(10, "candles of an episode after its exit", minimum=1, maximum=1440, unit="bars")
    episode_max_bars: int = setting(240, "length at which an episode is cut", minimum=2, maximum=10000, unit="bars")
    episode_window_bars: int = setting(
        16, "candles that are seen at each step of an episode, at most seq_len", minimum=1, maximum=600, unit="bars"
    )
    min_history: float = setting(0.5, "share of a window that must be there, else no sample", minimum=0.0, maximum=1.0)

    def __post_init__(self) -> None:
        check(self)
        if self.train_fraction + self.validation_fraction >= 1:
            together = self.train_fraction + self.validation_fraction
            raise ValueError(f"train_fraction and validation_fraction are {together:g} together, expected below 1")

    @property
    def episode_window(self) -> int:
        """Candles of each stream that are seen at each step of an episode."""
        return min(self.episode_window_bars, self.seq_len)

    @property
    def samples_per_trade(self) -> int:
        """Entry, exit, holds and no-trades of one trade, if each finds its place."""
        return 2 + self.holds_per_trade + self.no_trades_per_trade
