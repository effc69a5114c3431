#!/bin/bash
# The start of a stand-in for the official PostgreSQL image, for any user that owns the data folder: POSTGRES_PASSWORD and
# /docker-entrypoint-initdb.d on an empty volume, then the server.
set -euo pipefail
: "${POSTGRES_PASSWORD:?is required}"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  chmod 700 "$PGDATA"
  initdb -E UTF8 --locale=C.UTF-8 -U postgres --pwfile=<(echo "$POSTGRES_PASSWORD") -A scram-sha-256 --auth-local=trust >/dev/null
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  pg_ctl -w -o "-c listen_addresses=''" start >/dev/null
  for script in /docker-entrypoint-initdb.d/*.sh; do
    [ ! -e "$script" ] || bash "$script"
  done
  pg_ctl -w stop >/dev/null
fi
exec "$@" -c listen_addresses='*'
