#!/usr/bin/env bash
# Resolves the dependencies of pyproject.toml in a new environment and writes requirements.lock (what runs) and
# requirements-dev.lock and requirements-bench.lock (what tests and benches need besides). A local build tag such as +cpu is left out: on another machine the same
# version may be another build.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
names() { # names KEY...: the requirements at that place of pyproject.toml, one a line
  python3.11 - "$@" <<'PYTHON'
import functools, sys, tomllib

with open("pyproject.toml", "rb") as file:
    print(*functools.reduce(dict.get, sys.argv[1:], tomllib.load(file)), sep="\n")
PYTHON
}
frozen() { "$venv/bin/pip" freeze --exclude pip --exclude setuptools --exclude wheel | sed 's/+[a-z0-9.]*$//'; }
python3.11 -m venv "$venv"
"$venv/bin/pip" install --quiet --upgrade pip
names project dependencies >"$venv/run.txt"
names project optional-dependencies dev >"$venv/dev.txt"
names project optional-dependencies bench >"$venv/bench.txt"
"$venv/bin/pip" install --quiet --requirement "$venv/run.txt"
frozen >requirements.lock
"$venv/bin/pip" install --quiet --requirement "$venv/dev.txt"
{ echo '-r requirements.lock'; frozen | grep -vxFf requirements.lock; } >requirements-dev.lock
"$venv/bin/pip" install --quiet --requirement "$venv/bench.txt"
{ echo '-r requirements-dev.lock'; frozen | grep -vxFf <(cat requirements.lock requirements-dev.lock); } >requirements-bench.lock
