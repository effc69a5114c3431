#!/bin/sh
# Takes out of an environment what no service runs: test suites, headers, static libraries, the installer itself.
# The import at the end is the proof that nothing needed went with it: a missing file would only show in a training.
set -eu
cd "$1"/lib/python3*/site-packages
rm -rf torch/test torch/include torch/share pyarrow/include pip setuptools pip-*.dist-info setuptools-*.dist-info
find . -type d \( -name tests -o -name test \) -not -path './torch/*' -prune -exec rm -rf {} +
find torch/bin -type f ! -name torch_shm_manager -delete
find . -name '*.a' -delete
"$1"/bin/python -c 'import authlib, dvc.api, mlflow.server.auth, prefect.server, psycopg, streamlit, talib, torch'
