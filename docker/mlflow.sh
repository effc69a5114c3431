#!/bin/sh
# MLflow's server. Its logins are read from a file only, so the file is made in memory and for this user alone.
set -eu
umask 077
cat >/tmp/auth.ini <<INI
[mlflow]
default_permission = NO_PERMISSIONS
database_uri = $MLFLOW_AUTH_STORE_URI
admin_username = admin
admin_password = $MLFLOW_PASSWORD
INI
python /srv/stack/password.py & # waits for the server to make its tables
export MLFLOW_AUTH_CONFIG_PATH=/tmp/auth.ini
unset MLFLOW_PASSWORD PREFECT_SERVER_DATABASE_CONNECTION_URL
exec mlflow server --host 0.0.0.0 --port 5000 --workers 1 --app-name basic-auth --uvicorn-opts --no-access-log \
    --serve-artifacts --artifacts-destination /artifacts
