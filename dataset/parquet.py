"""Parquet files with every option stated: the same values make the same bytes, whatever pyarrow's defaults become."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_MICROSECONDS = 1_000_000


def utc_times(seconds: np.ndarray) -> pa.Array:
    """(N,) whole seconds since 1970 as a column of times in UTC."""
    return pa.array(seconds.astype(np.int64) * _MICROSECONDS, type=pa.timestamp("us", tz="UTC"))


def write_columns(path: Path, columns: dict[str, Any]) -> None:
    """Write named columns, each (N,), in this order; columns of times end in `time`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table(columns),
        path,
        version="2.6",
        data_page_version="2.0",
        row_group_size=1 << 20,
        compression="zstd",
        compression_level=9,
        use_dictionary=[name for name in columns if not name.endswith("time")],
        column_encoding={name: "DELTA_BINARY_PACKED" for name in columns if name.endswith("time")},
        write_statistics=False,
    )
