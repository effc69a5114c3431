"""The `dvc.lock` of a run: what DVC remembers of its stages, whose bits the shared cache keeps without it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

NAME = "dvc.lock"
ENTRY = {"path": str, "hash": str, "md5": str, "size": int, "nfiles": int, "isexec": bool}
DIGEST = re.compile(r"[0-9a-f]{32}(\.dir)?")
SAID = f"{NAME} cannot be read: it is kept as {NAME}.damaged, and what the stages made is looked up by its hashes"


def mend(workspace: Path, say: Callable[[str], None]) -> None:
    """Sets a lock file aside that DVC would refuse, and with it every stage; DVC makes another."""
    lock = workspace / NAME
    if lock.exists() and not is_whole(lock):
        lock.replace(lock.with_name(f"{NAME}.damaged"))
        say(SAID)


def is_whole(lock: Path) -> bool:
    """Whether DVC takes it: a file of its schema 2.0, as it writes it."""
    try:
        found = yaml.safe_load(lock.read_text(encoding="utf-8"))
    except (ValueError, yaml.YAMLError, IsADirectoryError):
        return False
    if not isinstance(found, dict) or found.get("schema") != "2.0" or not found.keys() <= {"schema", "stages"}:
        return False
    stages = found.get("stages", {})
    return isinstance(stages, dict) and all(is_stage(stage) for stage in stages.values())


def is_stage(stage: Any) -> bool:
    if not isinstance(stage, dict) or not stage.keys() <= {"cmd", "deps", "params", "outs"}:
        return False
    params = stage.get("params", {})
    return (
        isinstance(stage.get("cmd"), str | list)
        and isinstance(params, dict)
        and all(isinstance(values, dict) for values in params.values())
        and all(is_listed(stage.get(name, [])) for name in ("deps", "outs"))
    )


def is_listed(entries: Any) -> bool:
    """Whether these are dependencies or outputs: each has a path, and a whole digest where it has one."""
    return isinstance(entries, list) and all(
        isinstance(entry, dict)
        and "path" in entry
        and all(type(entry[key]) is ENTRY.get(key) for key in entry)
        and ("md5" not in entry or DIGEST.fullmatch(entry["md5"]))
        for entry in entries
    )
