#!/usr/bin/env bash
# Copies what the stack holds into a new folder below backups/, while it runs. The databases go first: every file that they
# name is there by then. The secrets of .env are not in it.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 077
folder=backups/$(date -u +%Y%m%d-%H%M%S)
mkdir -p backups && mkdir "$folder"

volume() { # volume SERVICE FOLDER: what is in a volume, without its own folder; a file that grows meanwhile is no failure
  local code=0
  docker compose run --rm --no-deps --no-TTY "$1" \
    sh -c 'cd "$1" && find . -mindepth 1 -maxdepth 1 -print0 | tar --create --file=- --null --files-from=-' volume "$2" || code=$?
  [ "$code" -le 1 ]
}

docker compose up --detach --wait --quiet-pull postgres 2>"$folder/up.log" || { cat "$folder/up.log" >&2; exit 4; }
rm "$folder/up.log"
for database in mlflow mlflow_auth prefect; do
  docker compose exec --no-TTY postgres pg_dump --username=postgres --format=custom "$database" >"$folder/$database.dump"
done
volume mlflow /artifacts >"$folder/artifacts.tar"
volume setup /state >"$folder/state.tar"
tar --create --file="$folder/checkout.tar" --exclude=.dvc/tmp data data.dvc .dvc
(cd "$folder" && sha256sum -- * >SHA256SUMS)
echo "$folder: $(du -sh "$folder" | cut -f1)"
