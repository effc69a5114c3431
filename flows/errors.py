"""Every command ends with one sentence and an exit code by class; a traceback is only for our own faults."""

import errno
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from flows import owner

BAD_INPUT, RESOURCES, SERVICE_DOWN, INTERNAL = 2, 3, 4, 5
TERMINATED = 143  # as shells count a SIGTERM: 128 and the signal
REPORT_VARIABLE = "PIVOTLINE_ERROR_FILE"
ROOM = 4096  # bytes of a stage's report
UNMAPPED = "failed to map segment"  # the loader's words for a library that finds no room
RESOURCE_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EROFS, errno.EMFILE, errno.EFBIG}

MOST_CHARACTERS, MOST_LINES = 1000, 200  # of a line of an error, and of its lines: findings have one each


class ServiceDownError(Exception):
    """A server that the command needs does not answer; the message names it and the remedy."""


class ResourceError(Exception):
    """Disk, memory or a folder that the command needs is not to be had; the message says which and the remedy."""


class StageError(Exception):
    """A stage ended with an error of its own; carries that stage's sentence and exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class CancelledError(Exception):
    """Somebody asked for the end of the run."""


class StageKilledError(StageError):
    """A signal ended a stage, of the kernel or from outside: it crashed and can be resumed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    code: int
    message: str


def classify(error: BaseException) -> Report:
    """The exit code and sentence of an error, safe to show and never without end, whatever a file put into it."""
    found = classified(error)
    return Report(code=found.code, message=bounded(found.message))


def bounded(text: str) -> str:
    """Lines of a bounded length and number that say what was cut; doing it again changes nothing."""
    lines = text.split("\n")
    kept = [bounded_line(visible(line)) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        kept[-1] = f"… and {len(lines) - MOST_LINES + 1:,} lines more"
    return "\n".join(kept)


def bounded_line(line: str) -> str:
    if len(line) <= MOST_CHARACTERS:
        return line
    told = f"… (cut: {len(line):,} characters in all)"
    return line[: MOST_CHARACTERS - len(told)] + told


def visible(line: str) -> str:
    """A line without what a terminal would carry out, or hide."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in line)


def classified(error: BaseException) -> Report:
    """The exit code and sentence of an error, as it was said."""
    if isinstance(error, StageError):
        return Report(code=error.code, message=str(error))
    if isinstance(error, CancelledError):
        return Report(code=TERMINATED, message=str(error))
    if isinstance(error, ServiceDownError):
        return Report(code=SERVICE_DOWN, message=str(error))
    if isinstance(error, ResourceError):
        return Report(code=RESOURCES, message=str(error))
    if isinstance(error, MemoryError):
        remedy = " or ".join(getattr(error, "__notes__", ["lower train.batch_size or preprocess.seq_len"]))
        return Report(code=RESOURCES, message=f"out of memory: {error}; {remedy}")
    if isinstance(error, ImportError) and UNMAPPED in str(error):
        remedy = "raise the limit on it (ulimit -v), or that of the container"
        return Report(code=RESOURCES, message=f"out of memory while loading {str(error).partition(':')[0]}; {remedy}")
    if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError):
        return Report(code=BAD_INPUT, message=f"{error.filename}: {(error.strerror or 'not found').lower()}")
    if isinstance(error, OSError) and error.errno in RESOURCE_ERRNOS:
        return Report(code=RESOURCES, message=refused(error))
    if isinstance(error, shutil.Error):  # of a folder that was copied: one entry a file that was not
        more = f", and {len(error.args[0]) - 1:,} files more were not copied" if len(error.args[0]) > 1 else ""
        return Report(code=RESOURCES, message=f"{error.args[0][0][2]}{more}; `pivotline prune` may free room")
    if isinstance(error, OSError):
        return Report(code=RESOURCES, message=f"{error.filename}: {error.strerror}" if error.filename else str(error))
    if isinstance(error, ValueError):
        return Report(code=BAD_INPUT, message=str(error))
    return Report(code=INTERNAL, message=f"internal error: {type(error).__name__}: {error}")


def refused(error: OSError) -> str:
    """What the machine refused, with the needed bytes where they are known and those that are free."""
    place = error.filename or os.environ.get("PIVOTLINE_STATE") or "the state folder"
    told = list(getattr(error, "__notes__", ()))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        there = next((path for path in (Path(place), *Path(place).parents) if path.exists()), Path.cwd())
        told.append(f"{shutil.disk_usage(there).free:,} bytes free")
    said = f"{error.strerror} at {place}" + (f" ({', '.join(told)})" if told else "")
    if error.errno == errno.EROFS:
        return f"{said}; if that is the state folder, set PIVOTLINE_STATE to one that can be written to"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{said}; earlier files were kept" + (", `pivotline prune` frees room" if full else "")


def stage_main(body: Callable[[], None]) -> None:
    """Runs a stage as a process: on an error prints its sentence, leaves it for the pipeline, exits by class.

    It ends with the process that it belongs to.
    """
    owner.watch()
    target = os.environ.get(REPORT_VARIABLE)
    if target:
        keep_room(Path(target))
    try:
        body()
    except Exception as error:  # the process edge: the one place where every error becomes a sentence
        report = classify(error)
        if report.code == INTERNAL:
            traceback.print_exc()
        print(f"error: {report.message}", file=sys.stderr, flush=True)
        if target:
            leave(Path(target), report)
        sys.exit(report.code)
    if target:
        Path(target).unlink(missing_ok=True)


def keep_room(target: Path) -> None:
    """Takes the room of a report while there is some: a full disk is one of the things that it must tell."""
    with suppress(OSError):
        target.write_bytes(b" " * ROOM)


def leave(target: Path, report: Report) -> None:
    """Writes a report into the room that was kept for it; without any, what was printed must do."""
    with suppress(OSError), target.open("r+b" if target.exists() else "wb") as file:
        file.write(json.dumps(asdict(report)).encode())
        file.truncate()


def read_report(path: Path) -> Report | None:
    """What `stage_main` left at `path`, None where the stage died without a word, or had no room for it."""
    with suppress(FileNotFoundError, ValueError, TypeError):
        return Report(**json.loads(path.read_text(encoding="utf-8")))
    return None
