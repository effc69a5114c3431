"""Checkpoints from before a training was started anew: they stay until it has saved its first, and nobody goes on from
them meanwhile.
"""

from contextlib import suppress
from pathlib import Path

from model import files
from model.content import as_json, read_json, sha256
from model.manifest import MANIFEST, Checkpoint, list_complete

NAME = "earlier.json"  # in the journal: the manifests of those checkpoints, by their folders


def put_away(checkpoints: Path, journal: Path) -> None:
    """Notes which checkpoints are there before a training begins anew."""
    known = {entry.path.name: sha256(entry.path / MANIFEST) for entry in list_complete(checkpoints)}
    if known:
        files.make_folder(journal)
        files.write(journal / f"{NAME}.new", as_json(known))
        files.rename(journal / f"{NAME}.new", journal / NAME)


def without(points: list[Checkpoint], journal: Path) -> list[Checkpoint]:
    """The checkpoints that are not from before."""
    earlier = {}
    with suppress(ValueError):
        earlier = read_json(journal / NAME)
    return [entry for entry in points if earlier.get(entry.path.name) != sha256(entry.path / MANIFEST)]
