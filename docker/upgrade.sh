#!/usr/bin/env bash
# Moves the databases to the schemas of the servers in a newly built image. There is no way back but the backup made first.
set -euo pipefail
cd "$(dirname "$0")/.."
docker compose build
bash docker/backup.sh
docker compose stop worker app mlflow prefect
docker compose run --rm --no-TTY schema python /srv/stack/schema.py upgrade
docker compose up --detach --wait
