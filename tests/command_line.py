"""The command line in this process: what a command prints, and the code it ends with."""

import sys

import pytest

from flows import cli


def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of `pivotline WORDS`."""
    monkeypatch.setattr(sys, "argv", ["pivotline", *words])
    monkeypatch.setattr("flows.cli.gc.freeze", lambda: None)  # this process goes on
    with pytest.raises(SystemExit) as end:
        cli.main()
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err
