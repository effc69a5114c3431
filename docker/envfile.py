"""Writes .env for the stack: new random secrets and the user that the containers run as. `make secrets` runs it.

Secrets that are there are kept. Every value that may be set is explained in .env.example.
"""

import os
import secrets
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GENERATED = "generated"  # what .env.example has in place of a secret
CONTAINER_USER = 1000  # for a checkout that belongs to root, as whom no container may run
WRITTEN = ("data", ".dvc/tmp")  # what the containers write in the checkout


def settings(text: str) -> dict[str, str]:
    """NAME=value lines in their order."""
    lines = [line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return {name.strip(): value.strip() for name, value in lines}


def completed(example: str, held: dict[str, str], uid: int, gid: int) -> str:
    """The example with a secret in each place that asks for one, the values that are held, and the user."""
    chosen = {"PIVOTLINE_UID": str(uid), "PIVOTLINE_GID": str(gid)} | held
    lines = []
    for line in example.splitlines():
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            fresh = secrets.token_urlsafe(24) if value == GENERATED else value
            line = f"{name}={chosen.get(name, fresh)}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def owner(root: Path) -> tuple[int, int]:
    """Who the containers run as: the checkout's owner, or the first ordinary user where that is root."""
    found = root.stat()
    return (found.st_uid, found.st_gid) if found.st_uid else (CONTAINER_USER, CONTAINER_USER)


def write(path: Path, text: str) -> None:
    """Readable by its owner alone from its first byte on, and never half written."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)


def prepare(root: Path, uid: int, gid: int) -> None:
    """Makes the folders that containers write in; as root, gives them to the containers' user, but never a dataset."""
    for name in WRITTEN:
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0 and not (folder / "dataset.json").exists():
            for path in (folder, *folder.rglob("*")):
                os.chown(path, uid, gid, follow_symlinks=False)


def main(root: Path) -> int:
    path, example = root / ".env", (root / ".env.example").read_text(encoding="utf-8")
    held = settings(path.read_text(encoding="utf-8")) if path.exists() else {}
    unknown = sorted(held.keys() - settings(example).keys())
    if unknown:
        print(f".env: {', '.join(unknown)} not known to .env.example; remove it or correct its name", file=sys.stderr)
        return 2
    uid, gid = owner(root)
    write(path, completed(example, {name: value for name, value in held.items() if value != GENERATED}, uid, gid))
    final = settings(path.read_text(encoding="utf-8"))
    prepare(root, int(final["PIVOTLINE_UID"]), int(final["PIVOTLINE_GID"]))
    print(f".env is there (mode 600), with the page's APP_PASSWORD. Containers run as user {final['PIVOTLINE_UID']}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(ROOT))
