"""How the page writes numbers, times and foreign text. Every format of the page is here."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from model.amount import amount

MISSING = "—"
MARKDOWN = frozenset(r"\`*_{}[]()#+-.!|<>~$:&=^@")
# What Streamlit makes something of in text that is escaped: icons and emoji by name, arrows and dashes, addresses.
SPELLS = re.compile(
    r"(?<=:)(?=[a-z+\-][\w+\-/:]*:)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=@)(?=\w)|(?<=[-<>~])(?=[-=>])", re.IGNORECASE
)
COMMAND = re.compile(r"`((?:pivotline|make|docker|dvc|git) [^`\n]+)`")  # of ours, as it stands in a sentence
JOINER = "\u2060"  # is not seen, and parts what would be read together
size = amount  # bytes
SPELLED = {"seq_len": "sequence length", "no_trades_per_trade": "no-trades per trade"}


def plain(text: object) -> str:
    """Text that is not ours inside Markdown: one line, every mark of Markdown escaped, nothing turned into a sign."""
    line = "".join(char if char.isprintable() else " " for char in str(text))
    parted = SPELLS.sub(JOINER, line.strip())
    return "".join(f"\\{char}" if char in MARKDOWN else char for char in parted)


def spoken(text: object) -> str:
    """A sentence of ours inside Markdown: its commands as code, all else plain, since it may quote what is not ours."""
    parts = COMMAND.split(str(text))  # outside, command, outside, ...
    return "".join(f"`{part}`" if at % 2 else padded(part) for at, part in enumerate(parts))


def padded(text: str) -> str:
    """Plain text that keeps the spaces at its ends."""
    return f"{' ' * text[:1].isspace()}{plain(text)}{' ' * text[-1:].isspace()}" if text.strip() else text


def count(number: int) -> str:
    return f"{number:,}"


def percent(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.1f} %"


def within(share: float | None, interval: Sequence[float] | None) -> str:
    """A score with its 95 % interval, where that is known: `61.4 % (53.0–69.3)`."""
    said = percent(share)
    return said if share is None or not interval else f"{said} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"


def apart(counted: int, documented: int) -> str:
    """How a count stands to what was documented of it."""
    if counted == documented:
        return "equal"
    if counted > 2 * documented:
        return f"{counted / documented:.1f} times as many"
    share = abs(counted - documented) / documented
    return f"{100 * share:.1f} % {'more' if counted > documented else 'fewer'}"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `31 min`, `1 h 05 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def moment(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp).astimezone(UTC)


def when(stamp: str | None) -> str:
    """`28 Nov 2026, 14:10 UTC` of an ISO time."""
    return f"{moment(stamp):%-d %b %Y, %H:%M} UTC" if stamp else MISSING


def seconds(started: str | None, ended: str | None) -> float | None:
    """From a start to an end, or until now."""
    if not started:
        return None
    end = moment(ended) if ended else datetime.now(UTC)
    return max(0.0, (end - moment(started)).total_seconds())


def took(started: str | None, ended: str | None) -> str:
    spent = seconds(started, ended)
    return MISSING if spent is None else duration(spent)


def short(version: str) -> str:
    """A dataset version or a hash by its first letters, as every table of ours shows it."""
    return version[:7]


def tag(run_id: str) -> str:
    """What tells a run from others where there is no room for its id."""
    return run_id[-6:]


def spelled(name: str) -> str:
    """A field's name in words."""
    return SPELLED.get(name, name.replace("_", " "))


def label(name: str, unit: str = "") -> str:
    """A field's name as the label of its input."""
    words = spelled(name).capitalize()
    return f"{words} ({unit})" if unit and unit not in words else words


def several(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
