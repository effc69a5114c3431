"""One thing that the doctor says: how bad, about what, and what to do."""

from dataclasses import dataclass

OK, WARNING, BROKEN = "ok", "warning", "broken"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """`broken`: a promise does not hold, or it cannot be told whether it does; `warning`: it soon may not."""

    level: str  # ok | warning | broken
    area: str  # services | disk | device | versions | checkpoints | runs | record | cache
    text: str
    remedy: str = ""


def ok(area: str, text: str) -> Finding:
    return Finding(level=OK, area=area, text=text)


def warning(area: str, text: str, remedy: str) -> Finding:
    return Finding(level=WARNING, area=area, text=text, remedy=remedy)


def broken(area: str, text: str, remedy: str) -> Finding:
    return Finding(level=BROKEN, area=area, text=text, remedy=remedy)
