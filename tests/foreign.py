"""Text that people could write, and what must never become of it."""

import re

TEXTS = (
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://example.invalid/x.png)",
    ":red[loud] :material/home:",
    "$x^2$ $$y$$",
    "`code` **bold** _it_ ~~no~~",
    "# heading",
    "\u202egnp.exe",
    "a\x00b",
    "x" * 300,
    "=HYPERLINK(1)",
    "+1+1 -2 @SUM(1)",
)
LIVE = re.compile(r"(?<!\\)(<img|\[click\]\(|!\[|:red\[|:material/|\$x|`code`|\*\*bold|# heading)|\u202e|\x00")


def live(markdown: str) -> list[str]:
    """What of it would be more than text on a surface that reads Markdown."""
    return [found[0] for found in LIVE.finditer(markdown)]
