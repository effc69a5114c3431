"""What will happen in the simulated market: when price turns, by how much, and which trade is marked there."""

from dataclasses import dataclass

from dataset.simulate.noise import uniform

FIRST_QUIET_BARS = 12_300  # over 200 whole hours, so that every trade has its hourly window
LEAD_BARS = 4  # the reference symbol turns this much earlier


@dataclass(frozen=True, kw_only=True, slots=True)
class Swing:
    """One trade and the two turns that it is marked at; bars are indices, moves are ticks of the primary symbol."""

    direction: int  # +1 long, -1 short
    start: int  # the stretch against the trade begins
    entry_turn: int  # the stretch ends here
    entry: int  # bar that the annotator clicked, one to five bars late
    plateau: int  # the first move is over
    rise: int  # the last move begins
    exit_turn: int
    exit: int
    calm: int  # the market has settled again
    stretch: int
    first_move: int  # below 0: the trade goes wrong at once
    last_move: int
    stop_distance: int
    led: bool  # the reference symbol turned first; it does not before a trade that goes wrong


def swings(seed: int, trades: int) -> list[Swing]:
    """The trades in order of time, half of them short, about one in six of them going wrong."""

    def draw(stream: int, low: int, high: int) -> list[int]:
        return [int(value) for value in uniform(seed, stream, trades, low, high)]

    order = sorted(range(trades), key=draw(1, 0, 1 << 40).__getitem__)
    shorts = set(order[: (trades + 1) // 2])
    quiet, stretch_bars, first_bars = draw(2, 180, 680), draw(3, 12, 22), draw(4, 8, 14)
    plateau_bars, last_bars, settle_bars = draw(5, 8, 110), draw(6, 10, 18), draw(7, 20, 40)
    stretch, first_move, last_move = draw(8, 80, 190), draw(9, 60, 130), draw(10, 70, 170)
    late, late_exit, stop, wrong = draw(11, 1, 5), draw(12, 1, 5), draw(13, 420, 620), draw(14, 0, 5)

    plan: list[Swing] = []
    now = FIRST_QUIET_BARS
    for i in range(trades):
        start = now + quiet[i]
        turn = start + stretch_bars[i]
        plateau = turn + first_bars[i]
        rise = plateau + plateau_bars[i]
        exit_turn = rise + last_bars[i]
        now = exit_turn + settle_bars[i]
        goes_wrong = wrong[i] == 0
        plan.append(
            Swing(
                direction=-1 if i in shorts else 1,
                start=start,
                entry_turn=turn,
                entry=turn + late[i],
                plateau=plateau,
                rise=rise,
                exit_turn=exit_turn,
                exit=exit_turn + late_exit[i],
                calm=now,
                stretch=stretch[i],
                first_move=-2 * first_move[i] if goes_wrong else first_move[i],
                last_move=last_move[i],
                stop_distance=stop[i],
                led=not goes_wrong,
            )
        )
    return plan


def knots(plan: list[Swing], *, reference: bool) -> list[tuple[int, int]]:
    """(bar, level in ticks) of the planned path of the primary or the reference symbol; noise comes on top."""
    lead = LEAD_BARS if reference else 0
    level, points = 0, [(0, 0)]
    for swing in plan:
        level = level * 2 // 3  # the quiet time before takes a third of the way back
        points.append((swing.start - lead, level))
        if reference and not swing.led:
            moves = [(swing.entry_turn, swing.stretch // 4), (swing.plateau, 0), (swing.rise, 0)]
        else:
            moves = [(swing.entry_turn, -swing.stretch), (swing.plateau, swing.first_move), (swing.rise, 0)]
        moves += [(swing.exit_turn, swing.last_move), (swing.calm, -swing.last_move * 2 // 3)]
        for bar, move in moves:
            level += swing.direction * move
            points.append((bar - lead, level))
    return points
