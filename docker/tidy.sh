#!/bin/sh
# Removes runs that were deleted in MLflow more than 30 days ago, with their files.
set -eu
export MLFLOW_TRACKING_USERNAME=admin MLFLOW_TRACKING_PASSWORD="$MLFLOW_PASSWORD"
exec mlflow gc --older-than 30d --backend-store-uri "$MLFLOW_BACKEND_STORE_URI" --tracking-uri http://mlflow:5000
