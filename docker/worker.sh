#!/bin/sh
# The worker. A container that was killed leaves DVC's lock files with process numbers that mean others now: those that no
# running command can hold (older than a minute, and no run goes on while its worker starts) are removed.
set -eu
find "$PIVOTLINE_STATE/runs" -path '*/.dvc/tmp/rwlock*' -mmin +1 -delete 2>/dev/null || true
exec python -m flows.cli serve
