"""Importing: files are taken whole and told apart, or refused by file and row, and the target stays as it was."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dataset.annotations import read_annotations
from dataset.candles import load
from dataset.importers import CandleSource, import_dataset
from dataset.importers.place import check_target, put_in_place
from dataset.schema import read_info

REAL = Path(__file__).parent.parent.parent / "shared" / "data" / "real"
START = datetime(2024, 5, 1, tzinfo=UTC)
ANNOTATIONS = """annotation_id,symbol,timeframe,side,entry_time,entry_price,exit_time,exit_price,stop_price,note
one,A/USD,1m,long,2024-05-01T01:00:00Z,100.5,2024-05-01T01:10:00Z,100.5,99,=1+1
two,A/USD,1m,short,2024-05-01T04:00:00+02:00,100.5,2024-05-01T02:10:00Z,100.5,,
"""


def bars(count: int = 300, step_s: int = 60) -> pd.DataFrame:
    """Flat candles between 100 and 101, oldest first."""
    times = [START + timedelta(seconds=step_s * i) for i in range(count)]
    prices = {"open": 100.2, "high": 101.0, "low": 100.0, "close": 100.8, "volume": 7.0}
    return pd.DataFrame({"open_time": pd.to_datetime(times, utc=True), **{k: [v] * count for k, v in prices.items()}})


def as_csv(frame: pd.DataFrame, times: Callable[[datetime], object], name: str = "time") -> str:
    rows = frame.assign(open_time=[times(time.to_pydatetime()) for time in frame["open_time"]])
    return rows.rename(columns={"open_time": name}).to_csv(index=False)


def iso(time: datetime) -> str:
    return time.isoformat()


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Any]:
    """Files of a small dataset that can be imported, and where to."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "trades.csv").write_text(ANNOTATIONS)
    for symbol in ("a", "b"):
        (tmp_path / "in" / f"{symbol}.csv").write_text(as_csv(bars(), iso))
    return {
        "target": tmp_path / "out" / "data",
        "annotations": tmp_path / "in" / "trades.csv",
        "candles": [
            CandleSource("A/USD", "1m", tmp_path / "in" / "a.csv"),
            CandleSource("B/USD", "1m", tmp_path / "in" / "b.csv"),
        ],
        "primary": "A/USD",
        "reference": "B/USD",
        "timeframes": ["1m", "5m"],
        "name": "small",
    }


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def refused(inputs: dict[str, Any], **changes: Any) -> str:
    """The message of an import that must fail, having left no trace beside or in its target."""
    before = tree(inputs["target"].parent)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - every caller looks at the message
        import_dataset(**{**inputs, **changes})
    assert tree(inputs["target"].parent) == before
    return str(caught.value)


def test_a_small_dataset_arrives_whole(inputs: dict[str, Any]) -> None:
    report = import_dataset(**inputs)
    assert (report["rows"], report["trades"], report["rejected"]) == (2, 2, 0)
    assert (report["long"], report["short"]) == (1, 1)
    assert [entry["rows"] for entry in report["candles"]] == [300, 300]
    trades, findings = read_annotations(inputs["target"])
    assert findings == []
    assert trades[1].entry_time == int(datetime(2024, 5, 1, 2, tzinfo=UTC).timestamp())
    assert trades[0].note == "=1+1"
    candles = load(inputs["target"], "A/USD", "1m")
    assert candles.open_time[0] == int(START.timestamp())
    assert candles.values[299].tolist() == [100.2, 101.0, 100.0, 100.8, 7.0]
    assert not read_info(inputs["target"]).simulated
    assert [path.name for path in inputs["target"].parent.iterdir()] == ["data"]


def test_the_same_files_make_the_same_bytes(inputs: dict[str, Any]) -> None:
    import_dataset(**inputs)
    first = tree(inputs["target"])
    import_dataset(**inputs, replace=True)
    assert tree(inputs["target"]) == first


TIMES: dict[str, Callable[[datetime], object]] = {
    "seconds": lambda time: int(time.timestamp()),
    "milliseconds": lambda time: int(time.timestamp()) * 10**3,
    "microseconds": lambda time: int(time.timestamp()) * 10**6,
    "nanoseconds": lambda time: int(time.timestamp()) * 10**9,
    "zone": lambda time: time.astimezone().isoformat(),
    "zone Z": lambda time: time.strftime("%Y-%m-%d %H:%M:%SZ"),
}


@pytest.mark.parametrize("form", TIMES)
def test_times_are_read_in_every_unambiguous_form(inputs: dict[str, Any], form: str) -> None:
    inputs["candles"][0].path.write_text(as_csv(bars(), TIMES[form]))
    report = import_dataset(**inputs)
    assert form.split()[0] in report["candles"][0]["times"]
    assert np.array_equal(load(inputs["target"], "A/USD", "1m").open_time, int(START.timestamp()) + 60 * np.arange(300))


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_binary_files_are_read_whatever_their_resolution(inputs: dict[str, Any], suffix: str) -> None:
    for unit in ("s", "ms", "us", "ns"):
        frame = bars().rename(columns={"open_time": "date"})
        frame["date"] = frame["date"].dt.as_unit(unit)
        path = inputs["candles"][0].path.with_suffix(suffix)
        frame.to_parquet(path) if suffix == ".parquet" else frame.to_feather(path)
        source = CandleSource("A/USD", "1m", path)
        import_dataset(**{**inputs, "candles": [source, inputs["candles"][1]]}, replace=True)
        assert load(inputs["target"], "A/USD", "1m").open_time[1] == int(START.timestamp()) + 60


def test_yahoo_days_newest_first_with_thousands(inputs: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "in" / "days.csv"
    header = "Date  ,Open  ,High  ,Low  ,Close      Close price adjusted.   ,Adj Close      All.   ,Volume  \n"
    path.write_text(
        header
        + '"Dec 19, 2023","3,619.58","3,717.66","3,330.87","3,417.93","1.0","58,879,190,250"\n'
        + '"Dec 18, 2023","3,886.89","3,902.72",3602,"3,618.79","1.0","48,946,681,636"\n'
    )
    days = CandleSource("A/USD", "1d", path)
    report = import_dataset(**{**inputs, "candles": [*inputs["candles"], days]})
    candles = load(inputs["target"], "A/USD", "1d")
    assert candles.open_time.tolist() == [1702857600, 1702944000]
    assert candles.values[0].tolist() == [3886.89, 3902.72, 3602.0, 3618.79, 48946681636.0]
    assert report["candles"][2]["times"] == "UTC days"


def cell(row: int, column: str, value: object) -> Callable[[pd.DataFrame], str]:
    """A candle CSV with one cell changed; `row` counts the header as row 1."""

    def write(frame: pd.DataFrame) -> str:
        lines = [line.split(",") for line in as_csv(frame, iso).splitlines()]
        lines[row - 1][lines[0].index(column)] = str(value)
        return "\n".join(map(",".join, lines)) + "\n"

    return write


def swapped(frame: pd.DataFrame) -> str:
    lines = as_csv(frame, iso).splitlines()
    lines[10], lines[11] = lines[11], lines[10]
    return "\n".join(lines) + "\n"


def huge_second(frame: pd.DataFrame) -> str:
    lines = as_csv(frame, TIMES["nanoseconds"]).splitlines()
    lines[2] = "9999999999999999999" + lines[2][lines[2].index(",") :]
    return "\n".join(lines) + "\n"


BAD_CANDLES: dict[str, tuple[Callable[[pd.DataFrame], str], str]] = {
    "no zone": (lambda f: as_csv(f, lambda t: t.strftime("%Y-%m-%d %H:%M")), r"a\.csv row 2, open_time: .*no zone"),
    "one without zone": (cell(9, "time", "2024-05-01T00:07:00"), r"a\.csv row 9, open_time: .*no zone.*\(time\)"),
    "day and month": (lambda f: as_csv(f, lambda t: "01/02/03"), r"a\.csv row 2, open_time: '01/02/03'"),
    "days in minutes": (lambda f: as_csv(f, lambda t: t.strftime("%Y-%m-%d")), r"row 2, open_time: .*without a time"),
    "1970": (lambda f: as_csv(f, lambda t: 12345), r"a\.csv row 2, open_time: 12345 .*1990"),
    "two units": (cell(5, "time", 1714521780000), r"a\.csv row 5, open_time"),
    "one beyond int64": (huge_second, r"a\.csv row 3, open_time: 9999999999999999999"),
    "beyond int64": (lambda f: as_csv(f, lambda t: 9_999_999_999_999_999_999), r"a\.csv row 2, open_time"),
    "order": (swapped, r"a\.csv row 12, open_time: .*not after.*\(order\)"),
    "twice": (cell(7, "time", "2024-05-01T00:04:00+00:00"), r"a\.csv row 7, open_time: .*\(order\)"),
    "other step": (lambda f: as_csv(bars(300, 30), iso), r"a\.csv row 3, open_time: .*30 s.*\(step\)"),
    "empty price": (cell(8, "close", ""), r"a\.csv row 8, close: '', expected a number"),
    "nan": (cell(8, "open", "nan"), r"a\.csv row 8, open: 'nan'"),
    "inf": (cell(8, "high", "inf"), r"a\.csv row 8, high: 'inf'"),
    "1e999": (cell(8, "high", "1e999"), r"a\.csv row 8, high: '1e999'"),
    "underscore": (cell(8, "open", "1_00"), r"a\.csv row 8, open: '1_00'"),
    "zero": (cell(8, "low", "0"), r"a\.csv row 8, low: .*above 0"),
    "negative volume": (cell(8, "volume", "-1"), r"a\.csv row 8, volume"),
    "high below low": (cell(8, "high", "99"), r"a\.csv row 8, high: .*\(shape\)"),
    "no volume": (lambda f: as_csv(f.drop(columns="volume"), iso), r"a\.csv row 1: column volume is missing"),
    "two times": (lambda f: as_csv(f.assign(date=1), iso), r"a\.csv row 1: columns time and date"),
    "short row": (lambda f: as_csv(f, iso) + "2024-05-01T05:00:00Z,1\n", r"a\.csv row 302 has 2 cells, expected 6"),
    "off the grid": (
        cell(52, "time", "2024-05-01T00:50:30Z"),
        r"a\.csv row 52, open_time: is 30 s before the next .*60 s",
    ),
    "off the grid, early": (
        cell(52, "time", "2024-05-01T00:49:30Z"),
        r"a\.csv row 52, open_time: is 30 s after the one",
    ),
    "no row": (lambda f: as_csv(f[:0], iso), r"a\.csv: holds no candle"),
    "nothing": (lambda f: "", r"a\.csv row 1: column open_time is missing"),
    "trade in a gap": (
        lambda f: as_csv(f.drop(index=range(50, 70)), iso),
        r"trades\.csv row 2, entry_time: .*in a gap.*\(gap\)",
    ),
    "trade after the end": (lambda f: as_csv(f[:100], iso), r"trades\.csv row 3, entry_time: .*\(range\)"),
}


@pytest.mark.parametrize("defect", BAD_CANDLES)
def test_bad_candles_are_refused_by_file_and_row(inputs: dict[str, Any], defect: str) -> None:
    write, message = BAD_CANDLES[defect]
    inputs["candles"][0].path.write_text(write(bars()))
    first = refused(inputs).splitlines()[0]
    assert re.search(message, first), first


def test_rows_are_those_of_the_file_even_if_it_is_newest_first_or_has_blank_lines(inputs: dict[str, Any]) -> None:
    newest_first = as_csv(bars()[::-1], iso).splitlines()
    newest_first[8] = newest_first[8].replace("101.0", "99")
    inputs["candles"][0].path.write_text("\n".join(newest_first) + "\n")
    assert "a.csv row 9, high" in refused(inputs)
    blank = as_csv(bars(), iso).splitlines()
    blank[8] = blank[8].replace("101.0", "99")
    inputs["candles"][0].path.write_text("\n".join([*blank[:4], "", ",,,,,", *blank[4:]]) + "\n")
    assert "a.csv row 11, high" in refused(inputs)


def test_an_off_grid_candle_is_told_once_by_its_own_row(inputs: dict[str, Any]) -> None:
    inputs["candles"][0].path.write_text(cell(52, "time", "2024-05-01T00:50:59Z")(bars()))
    assert len(refused(inputs).splitlines()) == 1


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_that_is_no_utf_8_is_told_by_row_with_what_to_do(inputs: dict[str, Any], encoding: str) -> None:
    row = 3 if encoding == "latin-1" else 1
    inputs["annotations"].write_text(ANNOTATIONS.replace("100.5,,\n", '100.5,,"café\r\n"\n'), encoding=encoding)
    words = f"row {row} is no UTF-8 text; save the file as UTF-8"
    assert f"trades.csv cannot be read: {words}" in refused(inputs)
    inputs["annotations"].write_text(ANNOTATIONS)
    lines = as_csv(bars(), iso).splitlines()
    text = "\n".join([lines[0] + ",note", lines[1] + ",", *(line + ",café" for line in lines[2:])])
    inputs["candles"][0].path.write_text(text, encoding=encoding)
    assert f"a.csv cannot be read: {words}" in refused(inputs)


def test_a_row_with_too_few_cells_is_told_by_their_number(inputs: dict[str, Any]) -> None:
    inputs["annotations"].write_text(ANNOTATIONS + "three,A/USD,1m\n")
    assert refused(inputs) == "trades.csv row 4 has 3 cells, expected 10"
    inputs["annotations"].write_text(ANNOTATIONS + "\n,,\n")
    assert import_dataset(**inputs)["rows"] == 2


@pytest.mark.parametrize("path", ["/dev/null", "/etc"])
def test_what_is_there_and_no_file_is_told_so(inputs: dict[str, Any], path: str) -> None:
    assert f"{path} is no file" in refused(inputs, annotations=Path(path))
    assert f"{path} is no file" in refused(inputs, candles=[CandleSource("A/USD", "1m", Path(path))])


def trade_row(**changes: str) -> str:
    header, first = ANNOTATIONS.splitlines()[:2]
    cells = dict(zip(header.split(","), first.split(","), strict=True)) | {"annotation_id": "bad"} | changes
    return ",".join(cells.values()) + "\n"


BAD_TRADES = {
    "side": ({"side": "up"}, r"trades\.csv row 4, side: 'up'"),
    "stop beyond": (
        {"stop_price": "99999"},
        r"row 4, stop_price: 99999 of a long trade, expected below .*100\.5 \(stop\)",
    ),
    "stop at entry": ({"stop_price": "100.5"}, r"trades\.csv row 4, stop_price: 100\.5 of a long trade"),
    "stop of a short": ({"side": "short", "stop_price": "99"}, r"stop_price: 99 of a short trade, expected above"),
    "no zone": ({"entry_time": "2024-05-01T01:00:00"}, r"trades\.csv row 4, entry_time: .*no zone"),
    "exit first": ({"exit_time": "2024-05-01T00:50:00Z"}, r"trades\.csv row 4, exit_time: .*\(order\)"),
    "exit at entry": ({"exit_time": "2024-05-01T01:00:00Z"}, r"trades\.csv row 4, exit_time: .*\(order\)"),
    "nan price": ({"entry_price": "nan"}, r"trades\.csv row 4, entry_price"),
    "huge price": ({"exit_price": "1e308"}, r"trades\.csv row 4, exit_price"),
    "price off": ({"entry_price": "102"}, r"trades\.csv row 4, entry_price: 102 was not traded"),
    "same id": ({"annotation_id": "one"}, r"trades\.csv row 4, annotation_id: .*row 2"),
    "symbol path": ({"symbol": "../../etc"}, r"trades\.csv row 4, symbol"),
    "other symbol": ({"symbol": "C/USD"}, r"trades\.csv row 4, symbol: C/USD has no usable candles"),
    "timeframe": ({"timeframe": "5m"}, r"trades\.csv row 4, timeframe"),
}


@pytest.mark.parametrize("defect", BAD_TRADES)
def test_a_bad_trade_is_refused_by_row_or_left_out_and_told(inputs: dict[str, Any], defect: str) -> None:
    changes, message = BAD_TRADES[defect]
    inputs["annotations"].write_text(ANNOTATIONS + trade_row(**changes))
    assert re.search(message, refused(inputs).splitlines()[0])
    report = import_dataset(**inputs, skip_rejected=True)
    assert (report["rows"], report["trades"], report["rejected"]) == (3, 2, 1)
    assert re.search(message, report["rejections"][0])
    assert len(read_annotations(inputs["target"])[0]) == 2


@pytest.mark.parametrize("changes", [{"side": "up"}, {"entry_price": "102"}])
def test_no_usable_trade_at_all_is_refused_with_the_reasons(inputs: dict[str, Any], changes: dict[str, str]) -> None:
    inputs["annotations"].write_text(ANNOTATIONS.splitlines()[0] + "\n" + trade_row(**changes))
    assert refused(inputs, skip_rejected=True).startswith(f"trades.csv row 2, {next(iter(changes))}: ")


def test_of_many_rows_that_are_left_out_so_many_are_told_as_anyone_reads(inputs: dict[str, Any]) -> None:
    inputs["annotations"].write_text(ANNOTATIONS + trade_row(side="up") * 1000)
    report = import_dataset(**inputs, skip_rejected=True)
    assert (report["trades"], report["rejected"], len(report["rejections"])) == (2, 1000, 201)
    assert report["rejections"][-1] == "… and 1,799 more like these"  # each has a name that is there twice, too


def test_every_finding_is_told_the_first_one_first(inputs: dict[str, Any]) -> None:
    inputs["annotations"].write_text(ANNOTATIONS + trade_row(side="up", entry_price="-1"))
    lines = refused(inputs).splitlines()
    assert len(lines) == 2
    assert "(1 more)" in lines[0]
    assert "entry_price" in lines[1]


def test_only_the_unfinished_last_candle_is_left_out_and_counted(inputs: dict[str, Any]) -> None:
    before_close = START.timestamp() + 300 * 60 - 1
    report = import_dataset(**inputs, now_s=before_close)
    assert [(e["rows"], e["accepted"], e["rejected"]) for e in report["candles"]] == [(300, 299, 1)] * 2
    assert "a.csv row 301, open_time" in report["warnings"][0]
    assert len(load(inputs["target"], "A/USD", "1m").open_time) == 299
    assert "row 292, open_time: closes in the future" in refused(inputs, now_s=before_close - 600, replace=True)


@pytest.mark.parametrize("name", ["candles.csv.gz", "candles.zip", "candles.pkl", "candles", "candles.npy"])
def test_other_kinds_of_files_are_refused_unopened(inputs: dict[str, Any], tmp_path: Path, name: str) -> None:
    path = tmp_path / "in" / name
    path.write_bytes(b"\x80\x04cposix\nsystem\n.")
    source = CandleSource("A/USD", "1m", path)
    assert "expected .csv, .parquet, .feather" in refused(inputs, candles=[source])
    assert "expected .csv or .parquet" in refused(inputs, annotations=path)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
def test_files_that_are_not_what_their_name_says_are_refused(
    inputs: dict[str, Any], tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / "in" / f"wrong{suffix}"
    path.write_bytes(b"\x80\x04\xff\xfe" * 100)
    source = CandleSource("A/USD", "1m", path)
    assert f"wrong{suffix}" in refused(inputs, candles=[source])


def test_missing_files_and_twice_given_ones_are_named(inputs: dict[str, Any], tmp_path: Path) -> None:
    gone = CandleSource("A/USD", "1m", tmp_path / "gone.csv")
    assert "gone.csv is missing" in refused(inputs, candles=[gone])
    assert "trades2.csv is missing" in refused(inputs, annotations=tmp_path / "trades2.csv")
    twice = CandleSource("A/USD", "1m", tmp_path / "in" / "b.csv")
    assert "a.csv and b.csv are both given for A/USD 1m" in refused(inputs, candles=[*inputs["candles"], twice])
    assert "candles/B_USD/1m.parquet is missing" in refused(inputs, candles=inputs["candles"][:1])


@pytest.mark.parametrize(
    ("symbol", "timeframe"), [("../x", "1m"), ("A/..", "1m"), ("A/USD", "../1m"), ("A/USD", "1 m")]
)
def test_a_source_cannot_name_a_place_outside(tmp_path: Path, symbol: str, timeframe: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        CandleSource(symbol, timeframe, tmp_path)


def test_a_folder_of_something_else_is_never_replaced(inputs: dict[str, Any]) -> None:
    inputs["target"].mkdir(parents=True)
    (inputs["target"] / "thesis.txt").write_text("kept")
    assert "holds other files" in refused(inputs)
    assert "holds other files" in refused(inputs, replace=True)


def test_a_dataset_is_replaced_only_on_request_and_only_by_a_good_one(inputs: dict[str, Any]) -> None:
    import_dataset(**inputs)
    assert "holds a dataset already" in refused(inputs)
    assert "row 4, side" in refused(_with_bad_trade(inputs), replace=True)
    inputs["annotations"].write_text(ANNOTATIONS)
    import_dataset(**{**inputs, "name": "newer"}, replace=True)
    assert read_info(inputs["target"]).name == "newer"
    assert [path.name for path in inputs["target"].parent.iterdir()] == ["data"]


def test_a_replacement_that_fails_or_was_killed_gives_the_old_dataset_back(
    inputs: dict[str, Any], tmp_path: Path
) -> None:
    import_dataset(**inputs)
    target = inputs["target"]
    before = tree(target)
    with pytest.raises(FileNotFoundError):
        put_in_place(tmp_path / "never staged", target)
    assert tree(target) == before
    target.rename(target.with_name(".data.replaced"))  # as a kill between the two renames leaves it
    check_target(target, replace=True)
    assert tree(target) == before


@pytest.mark.skipif(not REAL.is_dir(), reason="the real market data is not beside the project")
def test_real_trades_are_all_accepted(tmp_path: Path) -> None:
    def source(symbol: str, timeframe: str, name: str) -> CandleSource:
        return CandleSource(symbol, timeframe, REAL / name)

    report = import_dataset(
        tmp_path / "data",
        REAL / "annotations.csv",
        [
            source("ETH/USDT", "1m", "ETH_USDT-1m.feather"),
            source("BTC/USDT", "1m", "BTC_USDT-1m.feather"),
            source("ETH/USDT", "1d", "ETH-USD-daily-yahoo.csv"),
            source("BTC/USDT", "1d", "BTC-USD-daily-yahoo.csv"),
        ],
        "ETH/USDT",
        "BTC/USDT",
        ["1m", "15m", "1h", "1d"],
        "Binance August 2024",
    )
    assert (report["rows"], report["trades"], report["rejected"]) == (51, 51, 0)
    assert (report["long"], report["short"]) == (24, 27)
    assert [entry["accepted"] for entry in report["candles"]] == [43_208, 43_209, 355, 355]


def _with_bad_trade(inputs: dict[str, Any]) -> dict[str, Any]:
    inputs["annotations"].write_text(ANNOTATIONS + trade_row(side="up"))
    return inputs
