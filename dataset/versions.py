"""Dataset versions: the hash that DVC gives a data folder, and getting a version's files back from its cache.

Reads and computes what DVC 3 writes, without importing it: that alone would take a third of a second.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

_POINTER = re.compile(r"^[- ] md5: ([0-9a-f]{32}\.dir)\s*$", re.MULTILINE)
_VERSION = re.compile(r"[0-9a-f]{32}\.dir")
_CHUNK_BYTES = 1 << 20
_ALONE = """[core]
    no_scm = true
    analytics = false
[cache]
    dir = {cache}
"""


def version(root: Path) -> str:
    """The version of a data folder as `dvc add` would write it to its `.dvc` file: 32 hex digits and `.dir`.

    Raises ValueError if there is no such folder or it holds no file.
    """
    if not root.is_dir():
        raise ValueError(f"{root} is missing, expected a data folder")
    files = sorted((path.relative_to(root).as_posix(), path) for path in root.rglob("*") if path.is_file())
    if not files:
        raise ValueError(f"{root} is empty, expected a data folder with files")
    listing = json.dumps([{"md5": _md5(path), "relpath": name} for name, path in files], sort_keys=True)
    return hashlib.md5(listing.encode(), usedforsecurity=False).hexdigest() + ".dir"


def tracked_version(pointer: Path) -> str:
    """The version that a `data.dvc` file names.

    Raises ValueError if it is missing or tracks no folder.
    """
    if not pointer.is_file():
        raise ValueError(f"{pointer} is missing, expected the file that `dvc add` writes")
    found = named_in(pointer.read_text("utf-8", errors="replace"))
    if found is None:
        raise ValueError(f"{pointer}: md5 is missing, expected 32 hex digits and .dir of a tracked folder")
    return found


def named_in(text: str) -> str | None:
    """The version that the text of a `.dvc` file names; None if it tracks no folder."""
    found = _POINTER.search(text)
    return found[1] if found else None


def restore(version: str, target: Path, stores: list[Path]) -> None:
    """Write the files of a version into `target`, which must not exist, from the first DVC cache that has each.

    A store is a cache or a remote that is a folder: it holds `files/md5`. Every file is checked against its hash.
    Raises ValueError, and leaves no `target`, if an object is missing or damaged.
    """
    if _VERSION.fullmatch(version) is None:
        raise ValueError(f"dataset version is {version!r}, expected 32 hex digits and .dir")
    if target.exists():
        raise ValueError(f"{target} exists, expected a new folder for dataset version {version}")
    listed = _object(version, version, "its list of files", stores)
    if _md5(listed) + ".dir" != version:
        raise ValueError(f"dataset version {version}: its list of files is damaged in the cache")
    listing = json.loads(listed.read_text("utf-8"))
    unfinished = target.with_name(f".{target.name}.restoring")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        for entry in listing:
            _restore_file(version, entry["md5"], entry["relpath"], unfinished, stores)
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def held(version: str, stores: list[Path]) -> bool:
    """Whether every file of a version is in a store, undamaged: whether `restore` would bring it back."""
    try:
        listed = _object(version, version, "its list of files", stores)
        if _md5(listed) + ".dir" != version:
            return False
        digests = {entry["md5"]: entry["relpath"] for entry in json.loads(listed.read_text("utf-8"))}
        return all(_md5(_object(version, digest, name, stores)) == digest for digest, name in digests.items())
    except ValueError:
        return False


def add(folder: Path, cache: Path) -> str:
    """Put `folder/data` into a DVC cache and write `folder/data.dvc`, without touching any project; its version.

    Raises OSError with what DVC said if it could not: the data stays as it was.
    """
    (folder / ".dvc").mkdir(exist_ok=True)
    (folder / ".dvc" / "config").write_text(_ALONE.format(cache=cache.resolve()), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "add", "data", "--quiet"],
        cwd=folder,
        env=os.environ | {"DVC_NO_ANALYTICS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["dvc add failed"])[-1]
        raise OSError(f"the dataset could not be put into the cache {cache}: {said}")
    return tracked_version(folder / "data.dvc")


def _restore_file(version: str, digest: str, relpath: str, folder: Path, stores: list[Path]) -> None:
    path = folder / relpath
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"dataset version {version}: {relpath!r} would leave the data folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_object(version, digest, relpath, stores), path)
    if _md5(path) != digest:
        raise ValueError(f"dataset version {version}: {relpath} is damaged in the cache; `dvc fetch` may bring it back")


def _object(version: str, digest: str, name: str, stores: list[Path]) -> Path:
    for store in stores:
        path = store / "files" / "md5" / digest[:2] / digest[2:]
        if path.is_file():
            return path
    raise ValueError(f"dataset version {version}: {name} is not in the cache; `dvc fetch` may bring it back")


def _md5(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
