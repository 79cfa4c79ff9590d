#!/bin/sh
# Stands for the entry point of the official image of PostgreSQL.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
data=/var/lib/postgresql/data
if [ ! -f $data/PG_VERSION ]; then
	(umask 077 && printf '%s' "$POSTGRES_PASSWORD" >/tmp/password)
	"$bin/initdb" -D $data -U "$POSTGRES_USER" --pwfile=/tmp/password -A scram-sha-256 -E UTF8 --locale=C
	"$bin/pg_ctl" -D $data -w -o "-k /run/postgresql -c listen_addresses=''" start
	PGPASSWORD=$POSTGRES_PASSWORD "$bin/createdb" -h /run/postgresql -U "$POSTGRES_USER" "$POSTGRES_DB"
	"$bin/pg_ctl" -D $data -w stop
	echo 'host all all all scram-sha-256' >>$data/pg_hba.conf
fi
exec "$bin/postgres" -D $data -k /run/postgresql -c listen_addresses='*'
