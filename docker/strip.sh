#!/bin/sh
# Takes out of an environment what no service runs: test suites, sources and headers of what is compiled, source maps,
# types, notebook widgets, Arrow's network protocol, the installer itself.
# The import at the end is the proof that nothing needed went with it: a missing file would only show in a training.
set -eu
cd "$1"/lib/python3*/site-packages
rm -rf torch/test torch/include torch/share pyarrow/include pip setuptools pip-*.dist-info setuptools-*.dist-info
find . -type d \( -name tests -o -name test \) -not -path './torch/*' -prune -exec rm -rf {} +
find torch/bin -type f ! -name torch_shm_manager -delete
find . -type f \( -name '*.a' -o -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.py[xi]' -o -name '*.px[di]' -o -name '*.map' \) -delete
rm -rf pydeck/nbextension/static pyarrow/*_flight* pyarrow/src
"$1"/bin/python -c 'import authlib, dvc.api, mlflow.server.auth, prefect.server, psycopg, pydeck, streamlit, talib, torch
import pandas, pyarrow.compute, pyarrow.dataset, pyarrow.parquet'
