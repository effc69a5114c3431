"""Texts that someone may give to a dataset, a symbol or a note, each of which must be shown as it is."""

TEXTS = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "[a](javascript:alert(1))",
    "![a](https://example.invalid/a.png)",
    "**loud** _low_ ~~gone~~",
    ":red[x] :material/home: :smile:",
    "$x^2$ $$y$$",
    "`code` ```fence",
    "# head\n- item\n1. one\n> quote\n| a | b |",
    "\u202egnp.exe\u202c\u2066x\u2069",
    "a\x00b\x1b[31mc\r\nd",
    "x" * 300,
    '=HYPERLINK("https://example.invalid","a")',
)
FORMULAS = ("=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1", "|calc", "%0a=1")
