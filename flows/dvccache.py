"""The DVC cache: its objects, and which of them something still names.

Reads what DVC 3 writes: `files/md5/ab/cdef…` is an object, one that ends in `.dir` lists a folder.
"""

import hashlib
import json
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path

import yaml

OBJECT = re.compile(r"[0-9a-f]{30}(\.dir)?")
DIGEST = re.compile(r"\bmd5: ([0-9a-f]{32}(?:\.dir)?)\b")
DATASET_FILE = "dataset.json"
GIT_S = 60.0
NO_LOCK = (yaml.YAMLError, RecursionError, AttributeError, KeyError, TypeError)  # from a file of any other shape


def objects(cache: Path) -> Iterator[tuple[str, Path]]:
    """Digest and path of each object; links and what is no object are left alone."""
    for folder in sorted((cache / "files" / "md5").glob("[0-9a-f][0-9a-f]")):
        if folder.is_symlink():
            continue
        for path in sorted(folder.iterdir()):
            if OBJECT.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                yield folder.name + path.name, path


def place(cache: Path, digest: str) -> Path:
    return cache / "files" / "md5" / digest[:2] / digest[2:]


def listing(cache: Path, digest: str) -> list[tuple[str, str]]:
    """Digest and name of each file of a folder's object; empty when the object is missing or no listing."""
    try:
        return [(entry["md5"], entry["relpath"]) for entry in json.loads(place(cache, digest).read_text("utf-8"))]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def whole(cache: Path, digests: Iterable[str]) -> set[str]:
    """The digests with those of the files in the folders among them."""
    named = set(digests)
    return named | {file for digest in named if digest.endswith(".dir") for file, _ in listing(cache, digest)}


def trouble(cache: Path, version: str) -> str:
    """What of a folder's version is missing or damaged in the cache, file by file hashed; empty when nothing is."""
    path = place(cache, version)
    if not path.is_file():
        return "its list of files is missing"
    if md5(path) + ".dir" != version:
        return "its list of files is damaged"
    for digest, name in listing(cache, version):
        if not place(cache, digest).is_file():
            return f"{name} is missing"
        if md5(place(cache, digest)) != digest:
            return f"{name} is damaged"
    return ""


def md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.md5, usedforsecurity=False)).hexdigest()


def is_dataset(cache: Path, digest: str) -> bool:
    return digest.endswith(".dir") and any(name == DATASET_FILE for _, name in listing(cache, digest))


def workspace_outputs(workspace: Path, going: Collection[object]) -> set[str]:
    """What a run's workspace has out of the cache: its dataset, and the stage outputs that are there and stay."""
    found = set(DIGEST.findall(text(workspace / "data.dvc")))
    try:
        stages = (yaml.safe_load(text(workspace / "dvc.lock")) or {}).get("stages", {})
        outs = [(out["md5"], workspace / out["path"]) for stage in stages.values() for out in stage.get("outs", ())]
    except NO_LOCK:  # half a lock: whatever it names stays
        return found | set(DIGEST.findall(text(workspace / "dvc.lock")))
    return found | {digest for digest, path in outs if path.exists() and path not in going}


def text(path: Path) -> str:
    """Nothing where there is no file. Raises OSError for one that cannot be read: it may name anything."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def project_digests(root: Path) -> set[str] | None:
    """Everything that a `.dvc` file or `dvc.lock` of the checkout names now or named at any commit.

    None when git cannot tell; then no dataset may be taken for unneeded.
    """
    now = {digest for path in pointers(root) for digest in DIGEST.findall(text(path))}
    if not (root / ".git").exists():
        return now
    history = git(root, "log", "--all", "-m", "-p", "--no-color", "--format=", "--", "*.dvc", "dvc.lock", "*/dvc.lock")
    return None if history is None else now | set(DIGEST.findall(history))


def pointers(root: Path) -> list[Path]:
    top = [*root.glob("*.dvc"), root / "dvc.lock"]
    return [path for path in [*top, *root.glob("*/*.dvc"), *root.glob("*/dvc.lock")] if path.is_file()]


def git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-c", f"safe.directory={root}", *words],
            cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=GIT_S,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def remotes(root: Path) -> list[Path]:
    """The remotes of the project that are folders; others are not asked what they hold."""
    config = text(root / ".dvc" / "config") + text(root / ".dvc" / "config.local")
    urls = re.findall(r"^\s*url\s*=\s*(\S+)\s*$", config, re.MULTILINE)
    folders = [(root / ".dvc" / url) for url in urls if "://" not in url]
    return [folder for folder in folders if (folder / "files" / "md5").is_dir()]


def held_elsewhere(root: Path, cache: Path, digest: str) -> bool:
    """Whether one remote that is a folder has all files of a dataset version, of the right sizes."""
    wanted = {name: place(cache, name) for name in whole(cache, [digest])}
    return any(
        all(
            place(store, name).is_file() and path.is_file() and place(store, name).stat().st_size == path.stat().st_size
            for name, path in wanted.items()
        )
        for store in remotes(root)
    )
