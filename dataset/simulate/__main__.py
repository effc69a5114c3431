"""`python -m dataset.simulate OUT` writes the simulated sample dataset."""

import argparse
import sys
from pathlib import Path

from dataset.simulate.files import SEED, simulate


def main() -> int:
    """Exit code 0 when written, 2 when the folder cannot take it."""
    parser = argparse.ArgumentParser(prog="python -m dataset.simulate", description=__doc__)
    parser.add_argument("out", type=Path, help="a new or empty folder")
    parser.add_argument("--seed", type=int, default=SEED, help="another seed is another market")
    options = parser.parse_args()
    try:
        counts = simulate(options.out, options.seed)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{options.out}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
