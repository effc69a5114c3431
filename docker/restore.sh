#!/usr/bin/env bash
# restore.sh FOLDER: brings a backup into a stack that has no volumes yet, and starts it.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?name a backup: make restore FROM=backups/...}
[ -f "$folder/SHA256SUMS" ] || { echo "$folder: no backup is there; expected SHA256SUMS in it" >&2; exit 2; }
(cd "$folder" && sha256sum --quiet --check SHA256SUMS) || { echo "$folder: damaged; nothing was restored" >&2; exit 2; }
project=$(docker compose config | sed -n 's/^name: //p')
if [ -n "$(docker volume ls --quiet --filter "label=com.docker.compose.project=$project")" ]; then
  echo "the stack holds something already: docker compose down --volumes deletes it; nothing was restored" >&2
  exit 2
fi

tar --extract --skip-old-files --file="$folder/checkout.tar"
docker compose up --detach --wait postgres
for database in mlflow mlflow_auth prefect; do
  docker compose exec --no-TTY postgres pg_restore --username=postgres --exit-on-error --no-owner --role="${database%_auth}" \
    --dbname="$database" <"$folder/$database.dump"
done
docker compose run --rm --no-deps --no-TTY mlflow tar --extract --file=- --directory=/artifacts <"$folder/artifacts.tar"
docker compose run --rm --no-deps --no-TTY setup tar --extract --file=- --directory=/state <"$folder/state.tar"
docker compose up --detach --wait
echo "$folder was restored"
