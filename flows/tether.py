"""A server of the stack, below a watch for the `pivotline up` that started it: killed, that one could not end it.

Run as `python -m flows.tether MODULE WORDS`. A server is told its owner, and all of its group ends. The worker is told
none, and ends alone: its runs see that by themselves, save and say that they crashed.
"""

import os
import runpy
import signal
import sys

from flows import owner


def main() -> None:
    owner.watch(signs=(signal.SIGKILL,))
    os.environ.pop(owner.VARIABLE, None)  # what the server starts belongs to the server
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
