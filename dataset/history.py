"""Where dataset versions are known: the git history of `data.dvc`, and the lists of files that DVC's cache holds."""

import configparser
import csv
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataset.versions import named_in

MOST_COMMITS = 50
MOST_LIST_BYTES = 4 << 20  # a data folder has few files; a longer list is no dataset of ours
GIT_S = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """A commit that changed `data.dvc`, and the version it names since."""

    version: str
    commit: str
    at: str  # ISO-8601
    subject: str


def commits(root: Path) -> list[Commit]:
    """The versions that git knows, newest first; none without git or outside a repository."""
    found = []
    for line in _git(root, "log", f"-{MOST_COMMITS}", "--format=%h%x09%cI%x09%s", "--", "data.dvc").splitlines():
        name, at, subject = line.split("\t", 2)
        version = named_in(_git(root, "show", f"{name}:./data.dvc"))
        if version:
            found.append(Commit(version=version, commit=name, at=at, subject=subject))
    return found


def stores(root: Path, cache: Path) -> list[Path]:
    """Folders that may hold the files of a version: the cache, then the remotes of `.dvc/config` that are folders."""
    config = configparser.ConfigParser(interpolation=None)
    try:
        config.read(root / ".dvc" / "config", encoding="utf-8")
    except configparser.Error as error:
        raise ValueError(f"{root / '.dvc' / 'config'}: {str(error).splitlines()[0]}") from None
    urls = [config[name]["url"] for name in config.sections() if "remote" in name and "url" in config[name]]
    return [cache, *(root / ".dvc" / url for url in urls if "://" not in url)]


def cached(folders: list[Path]) -> dict[str, dict[str, str]]:
    """The data folders that a cache or remote holds: version -> file in it -> hash of its content."""
    found: dict[str, dict[str, str]] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("files/md5/*/*.dir"))):
        files = listing(path)
        if "dataset.json" in files:
            found.setdefault(path.parent.name + path.name, files)
    return found


def listing(path: Path) -> dict[str, str]:
    """The files that a `.dir` object names; none if it is damaged."""
    if path.stat().st_size > MOST_LIST_BYTES:
        return {}
    try:
        return {str(entry["relpath"]): str(entry["md5"]) for entry in json.loads(path.read_bytes())}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}


def peek(files: dict[str, str], folders: list[Path]) -> dict[str, Any]:
    """What a version tells without being restored: name, simulated and number of trades, where they are there."""
    facts: dict[str, Any] = {}
    info, trades = (object_path(files.get(name, ""), folders) for name in ("dataset.json", "annotations.csv"))
    try:
        if info:
            entries = json.loads(info.read_bytes())
            facts |= {"name": str(entries["name"]), "simulated": bool(entries["simulated"])}
        if trades:
            with trades.open(encoding="utf-8-sig", newline="") as file:
                facts["trades"] = sum(any(row) for row in csv.reader(file)) - 1
    except (ValueError, TypeError, KeyError, csv.Error):
        return facts
    return facts


def object_path(digest: str, folders: list[Path]) -> Path | None:
    """Where a content lies; None if no store has it."""
    paths = (folder / "files" / "md5" / digest[:2] / digest[2:] for folder in folders)
    return next((path for path in paths if digest and path.is_file()), None)


def _git(root: Path, *arguments: str) -> str:
    """What git answers; nothing if it cannot: git may be missing, the folder no repository or owned by another."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=GIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
