"""Bad data is refused with file, row, field and rule; nothing is dropped on the way."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from data_root import trade_on, walk, write_root, write_trades

from dataset.samples import PreprocessConfig, build
from dataset.schema import annotation_path, book_path, candle_path
from dataset.validate import errors, validate


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    root = tmp_path_factory.mktemp("clean") / "data"
    write_root(root)
    return root


@pytest.fixture
def root(clean, tmp_path):
    shutil.copytree(clean, tmp_path / "data")
    return tmp_path / "data"


def test_a_clean_root_has_no_finding(clean):
    assert validate(clean) == []


@pytest.mark.parametrize(
    ("cell", "value", "field", "rule"),
    [
        ("side", "Long", "side", "side"),
        ("side", "", "side", "side"),
        ("annotation_id", "", "annotation_id", "required"),
        ("annotation_id", "t700", "annotation_id", "unique"),
        ("symbol", "../../etc", "symbol", "symbol"),
        ("symbol", "NO/SUCH", "symbol", "candles"),
        ("timeframe", "1 minute", "timeframe", "timeframe"),
        ("timeframe", "5m", "timeframe", "timeframe"),
        ("entry_time", "2024-08-01 15:01:00", "entry_time", "time"),
        ("entry_time", "2024-08-01", "entry_time", "time"),
        ("entry_time", "01/02/03", "entry_time", "time"),
        ("entry_time", "1722524460", "entry_time", "time"),
        ("entry_time", "1722524460000", "entry_time", "time"),
        ("entry_time", "1970-01-01T00:00:00Z", "entry_time", "time"),
        ("entry_time", "2262-05-01T00:00:00Z", "entry_time", "time"),
        ("entry_time", "2024-02-30T00:00:00Z", "entry_time", "time"),
        ("entry_time", "", "entry_time", "time"),
        ("entry_time", "2024-07-31T23:59:59Z", "entry_time", "range"),
        ("exit_time", "2024-08-09T00:00:00Z", "exit_time", "range"),
        ("exit_time", "2024-08-01T15:01:00Z", "exit_time", "order"),
        ("exit_time", "2024-08-01T15:00:00Z", "exit_time", "order"),
        ("entry_price", "0", "entry_price", "price"),
        ("entry_price", "-5", "entry_price", "price"),
        ("entry_price", "nan", "entry_price", "price"),
        ("entry_price", "inf", "entry_price", "price"),
        ("entry_price", "1e308", "entry_price", "price"),
        ("entry_price", "1_00", "entry_price", "price"),
        ("entry_price", "", "entry_price", "price"),
        ("exit_price", "150", "exit_price", "price"),
    ],
)
def test_a_bad_annotation_is_named(root, cell, value, field, rule):
    primary = walk(1500)
    good, bad = trade_on(primary, 700, 760), trade_on(primary, 900, 911, "short")
    write_trades(root, [good, {**bad, cell: value}])
    found = errors(validate(root))
    assert [(finding.file, finding.row, finding.field, finding.rule) for finding in found] == [
        ("annotations.csv", 3, field, rule)
    ]
    with pytest.raises(ValueError, match=rf"^annotations.csv row 3, {field}: .*\({rule}\)$"):
        build(root, PreprocessConfig(seq_len=20))


@pytest.mark.parametrize(
    ("cells", "field", "rule"),
    [
        ({"decided_at": "2024-08-01T15:01:01Z"}, "decided_at", "order"),
        ({"decided_at": "2024-08-01T15:00:00"}, "decided_at", "time"),
        ({"stop_price": "none"}, "stop_price", "price"),
        ({"target_price": "-1"}, "target_price", "price"),
        ({"target_price": "90"}, "target_price", "target"),
        ({"side": "short", "target_price": "150"}, "target_price", "target"),
    ],
)
def test_optional_cells_are_checked_when_filled(root, cells, field, rule):
    write_trades(root, [{**trade_on(walk(1500), 900, 911), **cells}])
    assert [(finding.row, finding.field, finding.rule) for finding in errors(validate(root))] == [(2, field, rule)]


def test_offsets_other_than_utc_are_the_same_instant(root):
    trade = {**trade_on(walk(1500), 900, 911), "entry_time": "2024-08-01T17:01:00+02:00"}
    write_trades(root, [trade])
    assert validate(root) == []


def test_every_row_is_accepted_or_named(root):
    rows = [trade_on(walk(1500), 700 + 20 * number, 711 + 20 * number) for number in range(9)]
    for number in (1, 4, 8):
        rows[number]["side"] = "up"
    write_trades(root, rows)
    assert [finding.row for finding in errors(validate(root))] == [3, 6, 10]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: column annotation_id is missing, found nothing"),
        ("annotation_id,symbol\n", "row 1: column timeframe is missing"),
        ("{header},size\n", "row 1: column 'size' is unknown"),
        ("{header},note,note\n", "row 1: a column is there twice"),
        ("{header}\n1,2,3,4,5,6,7,8,9\n", "row 2 has 9 cells, expected 8"),
        ("{header}\n", "holds no trade"),
        ('{header}\n"open', "cannot be read"),
    ],
)
def test_a_broken_annotation_file_is_named(root, text, message):
    header = annotation_path(root).read_text("utf-8").splitlines()[0]
    annotation_path(root).write_text(text.replace("{header}", header), "utf-8")
    assert message in str(errors(validate(root))[0])


def test_a_bom_blank_lines_and_foreign_text_are_read(root):
    text = annotation_path(root).read_text("utf-8").replace("\n", "\n\n", 1)
    annotation_path(root).write_text("\ufeff" + text, "utf-8")
    assert validate(root) == []
    annotation_path(root).write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in str(validate(root)[0])


def test_parquet_annotations_are_the_same_as_csv(root):
    frame = pd.read_csv(annotation_path(root))
    for name in ("entry_time", "exit_time"):
        frame[name] = pd.to_datetime(frame[name])
    expected, _ = build(root, PreprocessConfig(seq_len=20))
    annotation_path(root).unlink()
    frame.to_parquet(root / "annotations.parquet")
    arrays, _ = build(root, PreprocessConfig(seq_len=20))
    np.testing.assert_array_equal(arrays["decision_time"], expected["decision_time"])
    frame.assign(entry_time=frame["entry_time"].dt.tz_localize(None)).to_parquet(root / "annotations.parquet")
    assert {(finding.field, finding.rule) for finding in validate(root)} == {("entry_time", "time")}


def _set(column: str, row: int, value: object):
    """Change one cell of a candle frame; row counts as in the file, where the header is row 1."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame.loc[row - 2, column] = value
        return frame

    return change


def _repeat(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([frame[:10], frame[9:]], ignore_index=True)


def _mix(frame: pd.DataFrame) -> pd.DataFrame:
    return _set("open_time", 12, frame.loc[9, "open_time"] + pd.Timedelta(seconds=30))(frame)


@pytest.mark.parametrize(
    ("change", "row", "field", "rule"),
    [
        (lambda frame: frame.drop(columns="volume"), None, "", "file"),
        (lambda frame: frame[:0], None, "", "empty"),
        (lambda frame: frame.assign(open_time=frame["open_time"].dt.tz_localize(None)), None, "open_time", "zone"),
        (lambda frame: frame.assign(open_time=range(len(frame))), None, "open_time", "zone"),
        (lambda frame: frame.assign(close="high"), None, "close", "number"),
        (_set("close", 7, float("nan")), 7, "close", "number"),
        (_set("high", 7, float("inf")), 7, "high", "number"),
        (_set("high", 7, 1e308), 7, "high", "number"),
        (_set("low", 7, 0.0), 7, "low", "number"),
        (_set("volume", 7, -1.0), 7, "volume", "number"),
        (_set("high", 7, 1.0), 7, "high", "shape"),
        (_set("low", 7, 1000.0), 7, "high", "shape"),
        (_set("open_time", 7, pd.NaT), 7, "open_time", "missing"),
        (_repeat, 12, "open_time", "order"),
        (_mix, 12, "open_time", "step"),
    ],
)
def test_bad_candles_are_named(root, change, row, field, rule):
    path = candle_path(root, "SIM/BTC", "1m")
    change(pd.read_parquet(path)).to_parquet(path)
    first = errors(validate(root))[0]
    assert (first.file, first.row, first.field, first.rule) == ("candles/SIM_BTC/1m.parquet", row, field, rule)


def test_many_bad_rows_are_counted_not_listed(root):
    path = candle_path(root, "SIM/BTC", "1m")
    pd.read_parquet(path).assign(volume=-1.0).to_parquet(path)
    found = errors(validate(root))
    assert len(found) == 21
    assert found[-1].message == "1480 more rows break this rule"


def test_gaps_jumps_and_idle_candles_are_told_but_kept(root):
    path = candle_path(root, "SIM/BTC", "1m")
    frame = pd.read_parquet(path).drop(index=[20, 21, 40])
    frame.loc[frame.index > 1000, ["open", "high", "low", "close"]] *= 10
    frame.loc[30, "volume"] = 0
    frame.to_parquet(path)
    found = validate(root)
    assert errors(found) == []
    assert [(finding.row, finding.rule) for finding in found] == [(22, "gap"), (1000, "jump"), (None, "idle")]
    assert found[0].message == "2 gaps lack 3 candles, the largest 2"


def test_a_trade_in_a_gap_is_refused(root):
    path = candle_path(root, "SIM/ETH", "1m")
    frame = pd.read_parquet(path)
    frame.drop(index=range(695, 705)).to_parquet(path)
    assert [(finding.row, finding.field, finding.rule) for finding in errors(validate(root))] == [
        (2, "entry_time", "gap")
    ]


def test_a_book_is_checked(root):
    path = book_path(root, "SIM/ETH")
    frame = pd.read_parquet(path).astype({"bid_03": float})
    _set("bid_03", 5, -1.0)(frame).to_parquet(path)
    first = validate(root)[0]
    assert (first.file, first.row, first.field, first.rule) == ("book/SIM_ETH.parquet", 5, "bid_03", "number")


def test_what_is_missing_is_named(root):
    candle_path(root, "SIM/BTC", "1m").unlink()
    assert "candles/SIM_BTC/1m.parquet is missing" in str(validate(root)[0])
    info = json.loads((root / "dataset.json").read_text("utf-8"))
    (root / "dataset.json").write_text(json.dumps({**info, "primary": "../x"}), "utf-8")
    assert "symbol is '../x'" in str(validate(root)[0])
    (root / "dataset.json").unlink()
    assert "dataset.json is missing" in str(validate(root)[0])
    assert "is missing, expected a data folder" in str(validate(root / "nothing")[0])


def test_a_file_that_is_no_parquet_is_refused(root):
    candle_path(root, "SIM/BTC", "1m").write_bytes(b"\x80\x04cos\nsystem\n")
    assert "cannot be read as Parquet" in str(validate(root)[0])
