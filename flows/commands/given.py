"""Values of options as they were given: an unset shell variable makes an empty one, which is no value."""

import typer


def filled(param: typer.CallbackParam, value: str | None) -> str | None:
    """The value, None where the option was left out.

    Raises ValueError that names the option for an empty one.
    """
    if value is not None and not value.strip():
        name = param.opts[0] if param.opts[0].startswith("-") else (param.metavar or param.opts[0]).upper()
        remedy = "" if param.required else "; leave it out where none is meant"
        raise ValueError(f"{name} is empty, expected a value{remedy}")
    return value
