"""Files that somebody sends: accepted by their rows, or refused whole; nothing is run or written elsewhere."""

import gzip
import io
import pickle
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkout import ROOT
from data_root import write_root
from scripted import wait_for

from dataset.annotations import read_annotations
from dataset.importers.content import MOST_UPLOAD_BYTES, check_content
from dataset.schema import read_info
from dataset.versions import version
from flows import imports
from flows.imports import Upload, Wanted, bring_in, put_in_use

HEADER = "annotation_id,symbol,timeframe,side,entry_time,entry_price,exit_time,exit_price,note\n"


class Payload:
    """What a hostile pickle would run."""

    def __reduce__(self) -> tuple:
        return (Path.touch, (Path("pickle-ran"),))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project whose outside is looked at afterwards: nothing may appear there."""
    root = tmp_path / "outer" / "project"
    root.mkdir(parents=True)
    for name in ("dvc.yaml", "params.yaml"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    for package in ("flows", "dataset", "model"):
        (root / package).symlink_to(ROOT / package)
    write_root(root / "data")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PIVOTLINE_PROJECT", str(root))
    monkeypatch.setenv("PIVOTLINE_STATE", str(root / "state"))
    before = version(root / "data")
    yield root
    assert [path.name for path in (tmp_path / "outer").iterdir()] == ["project"]
    assert [path.name for path in tmp_path.iterdir()] == ["outer"]
    assert not list(root.rglob("pickle-ran"))
    assert version(root / "data") == before or (root / "data.dvc").exists()


def annotations(project: Path, **changes: str) -> bytes:
    text = (project / "data" / "annotations.csv").read_text()
    for old, new in changes.items():
        text = text.replace(old, new)
    return text.encode()


def here(project: Path, **more: object) -> Wanted:
    return Wanted(name="mine", candles_of=version(project / "data"), **more)  # type: ignore[arg-type]


def nothing_left(project: Path) -> bool:
    return not list((project / "state").glob("imports/*"))


def zipped() -> bytes:
    """A million zeros in a kilobyte."""
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.csv", b"\0" * 1_000_000)
    return text.getvalue()


def linked_tar() -> bytes:
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w") as archive:
        link = tarfile.TarInfo("annotations.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return text.getvalue()


HOSTILE = {
    "zip bomb": ("trades.csv", zipped(), "holds a ZIP archive"),
    "gzip bomb": ("trades.csv", gzip.compress(b"0" * 1_000_000), "holds a gzip archive"),
    "gzip by name": ("trades.csv.gz", gzip.compress(HEADER.encode()), "ends in '.gz'"),
    "pickle": ("trades.pkl", pickle.dumps(Payload()), "ends in '.pkl'"),
    "pickle renamed csv": ("trades.csv", pickle.dumps(Payload()), "holds a pickle"),
    "pickle renamed parquet": ("trades.parquet", pickle.dumps(Payload()), "holds a pickle"),
    "old pickle renamed parquet": ("trades.parquet", pickle.dumps(Payload(), protocol=0), "does not begin as parquet"),
    "tar with a symlink": ("trades.csv", linked_tar(), "holds a tar archive"),
    "too large": ("trades.csv", bytes(MOST_UPLOAD_BYTES + 1), "expected at most 104,857,600"),
    "binary": ("trades.csv", b"a,b\n\x00\x01\x02\xff" * 50, "holds binary data"),
    "utf-16": ("trades.csv", HEADER.encode("utf-16"), "row 1 is no UTF-8 text; save the file as UTF-8"),
    "latin-1": ("trades.csv", (HEADER + "é").encode("latin-1"), "row 2 is no UTF-8 text; save the file as UTF-8"),
    "not utf-8": ("trades.csv", b"\xff\xfe\xfd" * 300, "cannot be read"),
    "empty": ("trades.csv", b"", "is empty"),
    "no suffix": ("trades", b"a", "ends in ''"),
    "half a parquet": ("trades.parquet", b"PAR1" + b"\x00" * 100, "cannot be read"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence(project: Path, kind: str) -> None:
    label, content, words = HOSTILE[kind]
    with pytest.raises(ValueError, match=words) as told:
        bring_in(Upload(label=label, content=content), [], here(project))
    assert str(told.value).startswith(label)
    assert "\n" not in str(told.value)
    assert nothing_left(project)


NAMES = [
    "../../evil.csv", "/etc/cron.d/evil.csv", "..\\..\\evil.csv", "%2e%2e%2fevil.csv", "\\\\host\\share\\evil.csv",
    "a\x00b.csv", "CON.csv", "x" * 300 + ".csv", "-rf.csv", "..;.csv", "line\nbreak.csv",
    "<img src=x onerror=alert(1)>.csv",
    "file-1.csv", "\u202egnp.csv", "=cmd|' /C calc'!A0.csv", ":red[x] $x$ **b**.csv",
]  # fmt: skip


@pytest.mark.parametrize("label", NAMES[:1] + NAMES[-4:])
def test_a_name_is_told_as_it_was_sent(project: Path, label: str) -> None:
    with pytest.raises(ValueError) as told:  # noqa: PT011 the words are looked at
        bring_in(Upload(label=label, content=annotations(project, short="up")), [], here(project))
    assert str(told.value).startswith(f"{label} row 3, side: 'up' is unknown")
    assert nothing_left(project)


def test_names_are_labels_and_never_paths(project: Path) -> None:
    bars = b"x,y\n1,2\n"
    sent = [Upload(label=label, content=bars, symbol=f"A{i}/USD", timeframe="1m") for i, label in enumerate(NAMES)]
    wanted = Wanted(name="../../x", primary="A0/USD", reference="A1/USD", timeframes=("1m",))
    with pytest.raises(ValueError, match="column open_time is missing"):
        bring_in(Upload(label=NAMES[0], content=annotations(project)), sent, wanted)
    assert nothing_left(project)


def test_a_file_that_unpacks_to_too_much_ends_its_process_and_not_ours(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 400_000
    column = pa.array(np.zeros(rows))
    batch = pa.table(dict.fromkeys(("open", "high", "low", "close", "volume"), column)).add_column(
        0, "open_time", pa.array(np.zeros(rows, "datetime64[s]"))
    )
    bomb = io.BytesIO()
    with pa.ipc.new_file(bomb, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        for _ in range(120):  # 2.3 GB of zeros
            writer.write_table(batch)
    assert len(bomb.getvalue()) < 3_000_000
    monkeypatch.setattr(imports, "MEMORY_BYTES", 3 << 30)
    candles = Upload(label="bomb.feather", content=bomb.getvalue(), symbol="SIM/ETH", timeframe="1m")
    wanted = Wanted(name="x", primary="SIM/ETH", reference="SIM/ETH", timeframes=("1m",))
    with pytest.raises(ValueError, match=r"unpack to more than the 3\.0 GiB"):
        bring_in(Upload(label="t.csv", content=annotations(project)), [candles], wanted)
    assert nothing_left(project)


def test_a_machine_without_memory_ends_an_import_before_the_page() -> None:
    words = [sys.executable, "-m", "flows.intake"]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: Path(f"/proc/{process.pid}/oom_score_adj").read_text() == "1000\n")


def test_annotations_of_too_many_rows_are_refused_unread(project: Path) -> None:
    names = HEADER.strip().split(",")
    rows = pa.table(
        {name: pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_100_000, np.int8)), [""]) for name in names}
    )
    text = io.BytesIO()
    pq.write_table(rows, text)
    assert len(text.getvalue()) < 100_000
    with pytest.raises(ValueError, match="unpacks to 1,100,000 rows"):
        bring_in(Upload(label="t.parquet", content=text.getvalue()), [], here(project))


ODD_TIMES = {
    "a time in the year 31 million": pa.array([10**15] * 2, pa.timestamp("s", tz="UTC")),
    "a day in the year 273 thousand": pa.array([10**8] * 2, pa.date32()),
    "a zone that is none": pa.array([0, 0], pa.timestamp("s", tz="No/Zone")),
    "a length beyond all time": pa.array([2**62] * 2, pa.duration("s")),
}


@pytest.mark.parametrize("kind", ODD_TIMES)
@pytest.mark.parametrize("field", ["entry_time", "note"])
def test_a_parquet_cell_that_has_no_text_is_refused_by_its_file(project: Path, kind: str, field: str) -> None:
    header, *rows = (line.split(",") for line in annotations(project).decode().splitlines())
    cells = {name: pa.array(column) for name, column in zip(header, zip(*rows, strict=True), strict=True)}
    text = io.BytesIO()
    pq.write_table(pa.table(cells | {field: ODD_TIMES[kind]}), text)
    with pytest.raises(ValueError, match=r"^t\.parquet"):
        bring_in(Upload(label="t.parquet", content=text.getvalue()), [], here(project))
    assert nothing_left(project)


def test_an_import_is_a_dataset_apart_until_it_is_put_into_data(project: Path) -> None:
    before = version(project / "data")
    done = bring_in(Upload(label="mine.csv", content=annotations(project, t700="=1+1")), [], here(project))
    assert (done.report["trades"], done.report["rejected"]) == (2, 0)
    assert version(project / "data") == before
    assert put_in_use(done.import_id) == before
    assert version(project / "data") == done.version
    info = read_info(project / "data")
    assert (info.name, info.simulated, info.timeframes) == ("mine", True, ("1m", "5m", "15m"))
    assert (project / "data" / "book" / "SIM_ETH.parquet").is_file()
    assert read_annotations(project / "data")[0][0].annotation_id == "=1+1"
    assert nothing_left(project)
    with pytest.raises(ValueError, match="not here any more"):
        put_in_use(done.import_id)


@pytest.mark.parametrize("import_id", ["../../data", "", "..", "0" * 16])
def test_only_an_import_of_ours_can_be_put_into_data(project: Path, import_id: str) -> None:
    with pytest.raises(ValueError, match="not here any more"):
        put_in_use(import_id)


def test_every_row_is_accepted_or_named(project: Path) -> None:
    content = annotations(project, short="up")
    done = bring_in(Upload(label="a.csv", content=content), [], here(project, skip_rejected=True))
    assert (done.report["rows"], done.report["trades"], done.report["rejected"]) == (2, 1, 1)
    assert done.report["rejections"] == ["a.csv row 3, side: 'up' is unknown, expected long or short (side)"]


def test_content_is_looked_at_before_anything_is_written(project: Path) -> None:
    check_content("a.csv", b"a,b\n1,2\n")
    candles = Upload(label="b.feather", content=b"PK\x03\x04", symbol="A/USD", timeframe="1m")
    with pytest.raises(ValueError, match=r"b\.feather"):
        bring_in(Upload(label="a.csv", content=annotations(project)), [candles], Wanted(name="x"))
    assert not (project / "state").exists()
