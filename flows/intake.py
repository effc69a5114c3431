"""`python -m flows.intake`: one import in a process of its own, whose memory and time are limited.

A small file can unpack to more than a machine holds. What does not fit ends this process, not the page.
"""

import json
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from dataset.importers import CandleSource, import_dataset
from flows.errors import RESOURCES, classify
from flows.params import load_params
from model.amount import amount

VICTIM = Path("/proc/self/oom_score_adj")  # a kernel without memory ends the import first, not the page beside it
MOST_CPU_S = 180
MOST_FILE_BYTES = 2 << 30


def main() -> None:
    """Reads an order from standard input, writes the import's report or `error` to standard output."""
    with suppress(OSError):  # not every kernel has it
        VICTIM.write_text("1000")
    order = json.load(sys.stdin)
    most_bytes = int(order.pop("memory_bytes"))
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S + 5))  # ended by SIGXCPU, which says why
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, MOST_FILE_BYTES))
    try:
        print(json.dumps(carry_out(order)))
    except MemoryError:
        memory = amount(most_bytes)
        said = f"the files unpack to more than the {memory} that an import may take; give fewer or smaller ones"
        print(json.dumps({"error": said, "code": RESOURCES}))
    except (ValueError, OSError) as error:
        told = classify(error)
        print(json.dumps({"error": told.message, "code": told.code}))


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    sources = [CandleSource(one["symbol"], one["timeframe"], Path(one["path"])) for one in order.pop("candles")]
    target, annotations, book = (order.pop(name) for name in ("target", "annotations", "book"))
    config = load_params(Path("params.yaml")).preprocess
    own_book = Path(book) if book else None
    return import_dataset(Path(target), Path(annotations), sources, book=own_book, config=config, **order)


if __name__ == "__main__":
    main()
