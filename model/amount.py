"""Bytes in words: the one rule by which the commands, the page and every message write them."""

UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def amount(count: float) -> str:
    """`952 KiB`, `90.8 MiB`, `1.1 GiB`: one decimal under 100 of a unit, none above."""
    for unit, scale in UNITS:
        if count >= scale:
            value = count / scale
            return f"{value:.1f} {unit}" if value < 99.95 else f"{value:,.0f} {unit}"
    return f"{count:,.0f} B"
