"""What a run's record must look like before anyone reads it: a damaged value is named here, once, and not met later."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

STATES = ("queued", "running", "done", "failed", "crashed", "cancelled")


def problem(record: Any) -> str | None:
    """What is wrong with a record, in words; None when nothing is."""
    if not isinstance(record, dict):
        return f"expected an object, got {type(record).__name__}"
    missing = [name for name in REQUIRED if name not in record]
    if missing:
        return f"expected {', '.join(missing)}"
    for name, (right, expected) in (REQUIRED | OPTIONAL).items():
        if name in record and not right(record[name]):
            return f"{name} is {str(record[name])[:60]!r}, expected {expected}"
    return None


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_time(value: Any) -> bool:
    """An instant with its zone."""
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def is_sections(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(entry, dict) for entry in value.values())


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def or_none(right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or right(value)


Rules = dict[str, tuple[Callable[[Any], bool], str]]
TEXT, TIME, SECTIONS = (is_text, "text"), (is_time, "a time with its zone"), (is_sections, "sections of values")
COUNT = (is_count, "a whole number")
NO_TEXT, NO_TIME = (or_none(is_text), "text"), (or_none(is_time), "a time with its zone")
REQUIRED: Rules = {
    "run_id": TEXT,
    "state": (lambda value: value in STATES, f"one of {', '.join(STATES)}"),
    "created_at": TIME,
    "dataset_version": TEXT,
    "params": SECTIONS,
    "stages": SECTIONS,
}
OPTIONAL: Rules = {
    **dict.fromkeys(("started_at", "ended_at", "asked_at", "cancel_asked_at"), NO_TIME),
    **dict.fromkeys(("message", "door", "flow_run_id", "mlflow_run_id"), NO_TEXT),
    **dict.fromkeys(("attempt", "started_ms", "memory_kills", "retried"), COUNT),
    "proof": (is_texts, "a list of texts"),
    "result": (or_none(lambda value: isinstance(value, dict)), "an object"),
}
