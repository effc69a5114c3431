"""What a data root holds: columns, timeframes, paths and `dataset.json`."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

CANDLE_COLUMNS = ("open_time", "open", "high", "low", "close", "volume")
ANNOTATION_REQUIRED = (
    "annotation_id",
    "symbol",
    "timeframe",
    "side",
    "entry_time",
    "entry_price",
    "exit_time",
    "exit_price",
)
ANNOTATION_OPTIONAL = ("decided_at", "stop_price", "target_price", "annotator", "reviewed", "note")
ANNOTATION_COLUMNS = ANNOTATION_REQUIRED + ANNOTATION_OPTIONAL
SIDES = ("long", "short")

# Resting size in 20 price buckets each side: number 1 touches the middle price, every bucket is equally wide.
BOOK_BUCKETS = 20
BID_COLUMNS = tuple(f"bid_{number:02d}" for number in range(1, BOOK_BUCKETS + 1))
ASK_COLUMNS = tuple(f"ask_{number:02d}" for number in range(1, BOOK_BUCKETS + 1))
BOOK_COLUMNS = ("time", *BID_COLUMNS, *ASK_COLUMNS)

UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_TIMEFRAME = re.compile(r"([1-9][0-9]{0,3})([smhd])")
_SYMBOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9.\-]{0,19}([/_][A-Za-z0-9.\-]{1,20})?")


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetInfo:
    """`dataset.json`: which symbols and timeframes make the streams, and whether the market is simulated."""

    name: str
    simulated: bool
    primary: str  # the symbol that is annotated
    reference: str  # the symbol of the last stream
    timeframes: tuple[str, ...]  # of the primary symbol; the first is the timeframe of the annotations
    reference_timeframe: str

    def __post_init__(self) -> None:
        for symbol in (self.primary, self.reference):
            symbol_dir(symbol)
        steps = [timeframe_seconds(timeframe) for timeframe in self.timeframes]
        timeframe_seconds(self.reference_timeframe)
        if not steps or steps != sorted(set(steps)):
            raise ValueError(f"timeframes are {list(self.timeframes)}, expected at least one, from short to long")

    @property
    def streams(self) -> int:
        """Number of streams of a sample: T."""
        return len(self.timeframes) + 1


def listed(columns: Sequence[str], most: int = 12) -> str:
    """Columns for a sentence: the first of them, and how many there are where they are many."""
    told = ", ".join(columns[:most]) or "nothing"
    return told if len(columns) <= most else f"{told} and {len(columns) - most:,} more"


def timeframe_seconds(timeframe: str) -> int:
    """Length of a bar: `5m` is 300.

    Raises ValueError for anything but a number and one of s, m, h, d.
    """
    match = _TIMEFRAME.fullmatch(timeframe)
    if match is None:
        raise ValueError(f"timeframe is {timeframe!r}, expected a number and s, m, h or d, such as 5m")
    return int(match[1]) * UNIT_SECONDS[match[2]]


def symbol_dir(symbol: str) -> str:
    """Folder of a symbol: `ETH/USDT` is `ETH_USDT`; a symbol that could leave the data root is refused."""
    if _SYMBOL.fullmatch(symbol) is None or ".." in symbol:
        raise ValueError(f"symbol is {symbol!r}, expected letters and digits such as ETH/USDT")
    return symbol.replace("/", "_")


def candle_path(root: Path, symbol: str, timeframe: str) -> Path:
    """Where the candles of one symbol and timeframe lie."""
    return root / "candles" / symbol_dir(symbol) / f"{timeframe}.parquet"


def book_path(root: Path, symbol: str) -> Path:
    """Where the order book of a symbol lies, if the data root has one."""
    return root / "book" / f"{symbol_dir(symbol)}.parquet"


def annotation_path(root: Path) -> Path:
    """The annotations of a data root: CSV, or Parquet if there is no CSV.

    Raises ValueError if there is neither or both.
    """
    found = [path for path in (root / "annotations.csv", root / "annotations.parquet") if path.is_file()]
    if len(found) != 1:
        raise ValueError(f"{root} holds {len(found)} annotation files, expected annotations.csv or annotations.parquet")
    return found[0]


def read_info(root: Path) -> DatasetInfo:
    """Read `dataset.json` of a data root.

    Raises ValueError if it is missing, is no JSON object, or has a missing, unknown or wrong entry.
    """
    path = root / "dataset.json"
    if not root.is_dir():
        raise ValueError(f"{root} is missing, expected a data folder with dataset.json, annotations and candles")
    if not path.is_file():
        raise ValueError(f"{path} is missing, expected the description of the data root")
    try:
        return _info(json.loads(path.read_text("utf-8")))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def write_info(root: Path, info: DatasetInfo) -> None:
    """Write `dataset.json`, the same bytes for the same description."""
    (root / "dataset.json").write_text(json.dumps(asdict(info), indent=2) + "\n", "utf-8")


def _info(entries: Any) -> DatasetInfo:
    """A description from parsed JSON, types checked."""
    names = set(DatasetInfo.__dataclass_fields__)
    if not isinstance(entries, dict) or set(entries) != names:
        found = sorted(entries) if isinstance(entries, dict) else type(entries).__name__
        raise ValueError(f"entries are {found}, expected {sorted(names)}")
    timeframes = entries["timeframes"]
    texts = [entries[name] for name in ("name", "primary", "reference", "reference_timeframe")]
    if not isinstance(timeframes, list) or not all(isinstance(text, str) for text in [*texts, *timeframes]):
        raise ValueError("names, symbols and timeframes must be texts, and timeframes a list of texts")
    if not isinstance(entries["simulated"], bool):
        raise ValueError(f"simulated is {entries['simulated']!r}, expected true or false")
    return DatasetInfo(**{**entries, "timeframes": tuple(timeframes)})
