#!/usr/bin/env bash
# Resolves the dependencies of pyproject.toml in new environments and writes requirements.lock (what runs),
# requirements-dev.lock (what tests need besides), requirements-bench.lock (what benches need besides) and
# docker/requirements.lock (what containers need besides). A local build tag such as +cpu is left out: on another machine
# the same version may be another build.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

names() { # names KEY...: the requirements at that place of pyproject.toml, one a line
  python3.11 - "$@" <<'PYTHON'
import functools, sys, tomllib

with open("pyproject.toml", "rb") as file:
    print(*functools.reduce(dict.get, sys.argv[1:], tomllib.load(file)), sep="\n")
PYTHON
}

frozen() { # frozen FILE...: what an environment of its own holds after installing these requirements
  python3.11 -m venv --clear "$work/venv"
  "$work/venv/bin/pip" install --quiet --upgrade pip
  "$work/venv/bin/pip" install --quiet "${@/#/--requirement=}"
  "$work/venv/bin/pip" freeze --exclude pip --exclude setuptools --exclude wheel | sed 's/+[a-z0-9.]*$//'
}

names project dependencies >"$work/run.txt"
names project optional-dependencies dev >"$work/dev.txt"
names project optional-dependencies bench >"$work/bench.txt"
names project optional-dependencies stack >"$work/stack.txt"
frozen "$work/run.txt" >"$work/run.lock"
cp "$work/run.lock" requirements.lock
{ echo '-r requirements.lock'; frozen "$work/run.lock" "$work/dev.txt" | grep -vxFf "$work/run.lock"; } >requirements-dev.lock
{ echo '-r requirements.lock'; frozen "$work/run.lock" "$work/bench.txt" | grep -vxFf "$work/run.lock"; } >requirements-bench.lock
{ echo '-r ../requirements.lock'; frozen "$work/run.lock" "$work/stack.txt" | grep -vxFf "$work/run.lock"; } >docker/requirements.lock
