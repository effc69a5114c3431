#!/bin/sh
# Brings the dataset that data.dvc names into a checkout that has none. A dataset that is there is left alone.
set -eu
mkdir -p "$PIVOTLINE_STATE/runs" "$PIVOTLINE_STATE/cache"
cd /project
if [ -e data/dataset.json ]; then
    echo "data/ is there and is left alone"
elif dvc pull --quiet data; then
    echo "data/ was restored from the DVC remote"
else
    echo "data/ is empty and could not be restored: run make data in the checkout, or put a dataset there" >&2
fi
