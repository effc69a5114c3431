"""Times between trades: the nearest steps back from an entry, whatever else is open there."""

from hypothesis import given
from hypothesis import strategies as st

from dataset.annotations import Annotation
from dataset.moments import NO_TRADE, moments


@given(
    spans=st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), min_size=1, max_size=12),
    gap_bars=st.integers(1, 9),
    wanted=st.integers(1, 4),
)
def test_no_trades_are_the_nearest_steps_back_outside_every_trade(
    spans: list[tuple[int, int]], gap_bars: int, wanted: int
) -> None:
    trades = [trade_from(start, length) for start, length in sorted(spans)]
    found = moments(trades, 1, 0, holds=0, no_trades=wanted, gap_bars=gap_bars)
    taken: set[int] = set()
    for index, trade in enumerate(trades):
        free = [
            time
            for time in range(trade.entry_time - gap_bars, -1, -gap_bars)
            if time not in taken and not any(other.entry_time <= time <= other.exit_time for other in trades)
        ][:wanted]
        taken |= set(free)
        assert [moment.time for moment in found if moment.trade == index and moment.kind == NO_TRADE] == free


def trade_from(start: int, length: int) -> Annotation:
    return Annotation(
        row=2,
        annotation_id="one",
        symbol="A/USD",
        timeframe="1m",
        side="long",
        entry_time=start,
        entry_price=1.0,
        exit_time=start + length,
        exit_price=1.0,
        decided_at=start,
    )
