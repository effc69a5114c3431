"""Registered versions in words: scores with their intervals, and what two of them prove."""

from app.format import MISSING, percent
from app.registry_reader import CHAMPION
from app.whiskers import Score
from flows.control import VersionView
from model.kinds import title

MOST = 6  # scores beside each other


def model(entry: VersionView) -> str:
    return title(entry.kind, entry.preset) if entry.kind else MISSING


def scored(entry: VersionView) -> str:
    """`61.4 % (53.0–69.3)`; a score that is not known is a dash."""
    if entry.score is None or entry.interval is None:
        return percent(entry.score)
    low, high = entry.interval
    return f"{percent(entry.score)} ({100 * low:.1f}–{100 * high:.1f})"


def name(entry: VersionView) -> str:
    return f"version {entry.version}" + (", champion" if CHAMPION in entry.aliases else "")


def rows(versions: tuple[VersionView, ...], chosen: VersionView, champion: VersionView | None) -> list[Score]:
    """The chosen version, the one it must beat, then the newest others."""
    first = [chosen, *([champion] if champion and champion != chosen else [])]
    others = [entry for entry in versions if entry not in first]
    return [
        Score(name=name(entry), value=entry.score, interval=entry.interval, ours=entry is chosen)
        for entry in [*first, *others][:MOST]
        if entry.score is not None
    ]


def answer(chosen: VersionView, champion: VersionView | None) -> str:
    """What the scores say of the chosen version."""
    if chosen.score is None:
        return f"Version {chosen.version} has no score: its test split could not be judged."
    said = f"Version {chosen.version}: {scored(chosen)} balanced accuracy on its test split, 95 % interval."
    if chosen.interval and chosen.interval[0] <= chosen.chance:
        said += f" It reaches down to chance, {percent(chosen.chance)}: better than chance is not proven."
    if champion is None or champion == chosen:
        return said + ("" if champion else " No version is champion yet.")
    if champion.dataset_version != chosen.dataset_version:
        return f"{said} Version {champion.version}, the champion, was judged on another dataset: {scored(champion)}."
    return f"{said} Version {champion.version}, the champion: {scored(champion)}. {apart(chosen, champion)}"


def apart(chosen: VersionView, champion: VersionView) -> str:
    if chosen.interval is None or champion.interval is None:
        return "Without intervals nothing is proven."
    if chosen.interval[0] > champion.interval[1]:
        return "The intervals do not overlap: it is better."
    if chosen.interval[1] < champion.interval[0]:
        return "The intervals do not overlap: it is worse."
    return "The intervals overlap: neither is proven better."
