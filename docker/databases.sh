#!/bin/bash
# Run once by PostgreSQL's own start on an empty volume: a role for each server and databases that only it can open.
set -euo pipefail
psql --set=ON_ERROR_STOP=1 --set=mlflow="$MLFLOW_DB_PASSWORD" --set=prefect="$PREFECT_DB_PASSWORD" --username=postgres --quiet <<'SQL'
CREATE ROLE mlflow LOGIN PASSWORD :'mlflow';
CREATE ROLE prefect LOGIN PASSWORD :'prefect';
CREATE DATABASE mlflow OWNER mlflow TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8';
CREATE DATABASE mlflow_auth OWNER mlflow TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8';
CREATE DATABASE prefect OWNER prefect TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8';
REVOKE ALL ON DATABASE mlflow, mlflow_auth, prefect, postgres FROM PUBLIC;
SQL
