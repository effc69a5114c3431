"""How a run ended before its end: as what, and who or what ended it."""

import signal
from pathlib import Path

from flows import owner, runfile
from flows.burial import ASKED, OFFER
from flows.errors import StageKilledError, classify
from flows.memory_kills import suspicion


def ended_as(workspace: Path, error: BaseException) -> tuple[str, str]:
    """The state and a sentence on it.

    Cancelled when that was asked for or a signal came, crashed when a process was killed under it, failed for an error.
    """
    record = runfile.read(workspace) or {}
    if record.get("cancel_asked_at"):
        return "cancelled", ASKED
    if owner.is_gone():
        return "crashed", f"the worker that ran it ended{suspicion(record)}; {OFFER}"
    if isinstance(error, StageKilledError):
        return "crashed", str(error)
    return ("failed", classify(error).message) if isinstance(error, Exception) else ("cancelled", ended_by(error))


def ended_by(error: BaseException) -> str:
    """The signal behind an exception that is no error; Prefect's own has its number, an exit the one shells count."""
    if isinstance(error, KeyboardInterrupt):
        return "ended by Ctrl-C"
    code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 0
    number = getattr(error, "signal", code - 128)
    return f"ended by {signal.Signals(number).name}" if number in list(signal.Signals) else "ended from outside"
