"""What a file that somebody sent really holds, told by its first bytes: its name is a label only."""

from pathlib import Path

SUFFIXES = (".csv", ".parquet", ".feather")
MOST_UPLOAD_BYTES = 100 << 20
ARCHIVES = {
    b"PK\x03\x04": "a ZIP archive",
    b"PK\x05\x06": "a ZIP archive",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"\x93NUMPY": "a NumPy array",
    b"%PDF": "a PDF",
    b"\x7fELF": "a program",
    b"MZ": "a program",
}
MARKS = {".parquet": (b"PAR1",), ".feather": (b"ARROW1", b"FEA1")}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # text with a mark in front: the reader says what to do
TAR_MARK = slice(257, 262)  # where a tar archive says `ustar`


def kind_of(label: str) -> str:
    """The kind of file that a name claims.

    Raises ValueError if it is none of ours.
    """
    kind = Path(label.replace("\\", "/")).suffix.lower()
    if kind not in SUFFIXES:
        raise ValueError(f"{label}: ends in {kind!r}, expected {', '.join(SUFFIXES)}")
    return kind


def check_content(label: str, content: bytes) -> None:
    """Refuse what is too large, empty, or not what its name says. Nothing is unpacked or run to find out.

    Raises ValueError.
    """
    kind = kind_of(label)
    if len(content) > MOST_UPLOAD_BYTES:
        raise ValueError(f"{label}: has {len(content):,} bytes, expected at most {MOST_UPLOAD_BYTES:,}")
    if not content:
        raise ValueError(f"{label}: is empty, expected rows")
    held = next((name for mark, name in ARCHIVES.items() if content.startswith(mark)), "")
    held = "a tar archive" if content[TAR_MARK] == b"ustar" else held
    if held:
        raise ValueError(f"{label}: holds {held}, expected {kind[1:]}; it was not opened")
    if kind in MARKS and not content.startswith(MARKS[kind]):
        raise ValueError(f"{label}: does not begin as {kind[1:]} does; it was not opened")
    if kind == ".csv" and b"\x00" in content[:4096] and not content.startswith(UTF_16):
        raise ValueError(f"{label}: holds binary data, expected UTF-8 text; it was not opened")
