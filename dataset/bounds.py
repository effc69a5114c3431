"""Bounds of a config: each field says what it means and which values it accepts."""

import math
import types
from collections.abc import Sequence
from dataclasses import Field, field, fields
from typing import Any, Union, get_args, get_origin, get_type_hints


def setting(
    default: Any,
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[Any] | None = None,
    unit: str = "",
) -> Any:
    """A dataclass field that carries its help, bounds and unit, so that forms and checks read one source."""
    metadata = {
        "help": help,
        "min": minimum,
        "max": maximum,
        "choices": None if choices is None else tuple(choices),
        "unit": unit,
    }
    return field(default=default, metadata=metadata)


def check(config: Any) -> None:
    """Refuse a config once, with every problem named.

    Raises ValueError.
    """
    found = problems(config)
    if found:
        raise ValueError("; ".join(found))


def problems(config: Any) -> list[str]:
    """What is wrong with the values of a config dataclass; empty if nothing is.

    A field without `setting` metadata is checked by its type only.
    """
    hints = get_type_hints(type(config))
    return [
        f"{entry.name} is {getattr(config, entry.name)!r}, expected {expected}"
        for entry in fields(config)
        if (expected := _expected(getattr(config, entry.name), hints[entry.name], entry))
    ]


def _expected(value: Any, hint: Any, entry: Field[Any]) -> str:
    """What the field expects, if the value is not that; else the empty string."""
    if not _is_type(value, hint):
        return _type_name(hint)
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, float) and not math.isfinite(item):
            return "a finite number"
        if item is not None and not _inside(item, entry.metadata):
            return _range_text(entry.metadata)
    return ""


def _is_type(value: Any, hint: Any) -> bool:
    """Whether the value has the annotated type: a bool is no int, an int is a float."""
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_is_type(value, option) for option in get_args(hint))
    if origin is tuple:
        return isinstance(value, tuple) and all(_is_type(item, get_args(hint)[0]) for item in value)
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _type_name(hint: Any) -> str:
    """The annotated type as a reader would say it."""
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_type_name(option) for option in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list of {_type_name(get_args(hint)[0])}"
    return "none" if hint is type(None) else str(getattr(hint, "__name__", hint))


def _inside(item: Any, metadata: Any) -> bool:
    """Whether one value keeps the choices, the minimum and the maximum."""
    choices, low, high = metadata.get("choices"), metadata.get("min"), metadata.get("max")
    if choices is not None:
        return item in choices
    return (low is None or item >= low) and (high is None or item <= high)


def _range_text(metadata: Any) -> str:
    """The accepted values in words."""
    choices, low, high = metadata.get("choices"), metadata.get("min"), metadata.get("max")
    if choices is not None:
        return "one of " + ", ".join(str(choice) for choice in choices)
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if high is None else f"at most {high}"
