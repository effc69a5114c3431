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


def unread(run_id: str, error: OSError) -> Finding:
    """Something of a run may not be read, as it is another user's; the other runs are looked at all the same."""
    text = f"run {run_id}: {error.filename} cannot be read ({error.strerror})"
    return broken("disk", text, "make it readable")


def broken(area: str, text: str, remedy: str) -> Finding:
    return Finding(level=BROKEN, area=area, text=text, remedy=remedy)
