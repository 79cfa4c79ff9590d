#!/bin/sh
# Runs a whole fleet on this machine until Ctrl-C: PostgreSQL, an S3 server, two
# API processes behind nginx, and three workers. Everything is in .cache/cluster
# and starts from nothing each time. Then it uploads a film and shows who works
# on it.
#   scripts/cluster.sh          the fleet, with the film
#   scripts/cluster.sh --idle   the fleet alone
set -eu
cd "$(dirname "$0")/.."
spool=$(pwd)/bin/spool
dir=$(pwd)/.cache/cluster
port=${SPOOL_CLUSTER_PORT:-8080}
key=cluster-key-0123456789abcdef
export AWS_ACCESS_KEY_ID=cluster AWS_SECRET_ACCESS_KEY=cluster-secret
# versitygw answers 8090; the API processes 8081 and 8082; the workers 8083 to 8085.
export SPOOL_STORAGE_URL="s3://films/spool?region=us-east-1&endpoint=http://127.0.0.1:8090"
export SPOOL_DATABASE_URL="postgres://spool@127.0.0.1:8091/spool"
export SPOOL_BASE_URL=http://127.0.0.1:$port SPOOL_LOG_FORMAT=json

# A fleet that runs already would lose its files to the next lines.
for taken in "$port" 8081 8082 8083 8084 8085 8090 8091; do
	answer=0
	curl -s -o /dev/null --max-time 2 "http://127.0.0.1:$taken/" || answer=$?
	if [ $answer -ne 7 ]; then # 7: nobody listens
		echo "Port $taken is taken: is a fleet running already? Stop what listens there first." >&2
		[ "$taken" != "$port" ] || echo "Or let the fleet answer on another port: SPOOL_CLUSTER_PORT=9080 make cluster" >&2
		exit 1
	fi
done
rm -rf "$dir"
mkdir -p "$dir/s3/films" "$dir/log" "$dir/nginx"

started=
processes= # for people: names and process ids
data= # PostgreSQL's
stop() {
	trap - EXIT INT TERM
	echo "Stopping the fleet"
	# In the order of their dependence, the last started first.
	for pid in $started; do
		kill "$pid" 2>/dev/null || true
	done
	wait
	rm -rf "$data"
}
trap stop EXIT
trap 'exit 0' INT TERM # the way to stop it

# run NAME COMMAND... starts a process in the background, with its log in a file.
run() {
	name=$1
	shift
	"$@" >"$dir/log/$name.log" 2>&1 &
	started="$! $started"
	processes="$processes $name=$!"
	echo $! >"$dir/log/$name.pid"
}

# await NAME COMMAND... repeats a command until it succeeds, as long as the
# process of that name lives.
await() {
	name=$1
	shift
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		if [ $tries -gt 150 ] || ! kill -0 "$(cat "$dir/log/$name.pid")" 2>/dev/null; then
			echo "$name does not answer; the end of $dir/log/$name.log:" >&2
			tail -n 5 "$dir/log/$name.log" >&2
			exit 1
		fi
		sleep 0.2
	done
}

# PostgreSQL refuses to run as root, and Debian keeps it out of PATH.
postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
[ -n "$postgres" ] || postgres=$(dirname "$(command -v initdb)")
as_nobody=
if [ "$(id -u)" -eq 0 ]; then
	as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
fi
start_postgres() {
	data=$(mktemp -d "${TMPDIR:-/tmp}/spool-cluster.XXXXXX") # nobody may not be let into this folder
	ln -s "$data" "$dir/postgres"
	[ -z "$as_nobody" ] || chown 65534:65534 "$data"
	$as_nobody "$postgres/initdb" -D "$data/db" -U spool -A trust -E UTF8 --locale=C >"$dir/log/initdb.log" 2>&1
	run postgres $as_nobody "$postgres/postgres" -D "$data/db" -k "$data" -p 8091 -c listen_addresses=127.0.0.1
	await postgres "$postgres/createdb" -h 127.0.0.1 -p 8091 -U spool spool
}

start_nginx() {
	cat >"$dir/nginx/nginx.conf" <<-END
		pid $dir/nginx/pid;
		error_log $dir/log/nginx.log;
		worker_processes 1;
		events {}
		http {
		  access_log off;
		  client_body_temp_path $dir/nginx/body; proxy_temp_path $dir/nginx/proxy;
		  fastcgi_temp_path $dir/nginx/fastcgi; uwsgi_temp_path $dir/nginx/uwsgi; scgi_temp_path $dir/nginx/scgi;
		  upstream spool { server 127.0.0.1:8081 max_fails=1 fail_timeout=2s; server 127.0.0.1:8082 max_fails=1 fail_timeout=2s; }
		  server {
		    listen 127.0.0.1:$port;
		    location / {
		      proxy_pass http://spool; proxy_http_version 1.1;
		      proxy_set_header Host \$http_host;
		      proxy_request_buffering off; proxy_buffering off; client_max_body_size 0;
		      proxy_connect_timeout 2s;
		      proxy_read_timeout 5m;
		    }
		  }
		}
	END
	run nginx nginx -c "$dir/nginx/nginx.conf" -e "$dir/log/nginx.log" -g 'daemon off;'
}

start_postgres
run s3 env ROOT_ACCESS_KEY=$AWS_ACCESS_KEY_ID ROOT_SECRET_KEY=$AWS_SECRET_ACCESS_KEY \
	.cache/bin/versitygw --port 127.0.0.1:8090 --quiet --health /health --cors-allow-origin "http://127.0.0.1:$port" posix "$dir/s3"
await s3 curl -fsS http://127.0.0.1:8090/health

for n in 1 2; do
	run "api$n" env SPOOL_ROLE=api SPOOL_API_KEY=$key SPOOL_LISTEN=127.0.0.1:808$n SPOOL_DATA_DIR="$dir/api$n" "$spool" serve
done
for n in 1 2 3; do
	run "worker$n" env SPOOL_ROLE=worker SPOOL_WORKERS=1 SPOOL_LISTEN=127.0.0.1:808$((n + 2)) SPOOL_DATA_DIR="$dir/worker$n" "$spool" serve
done
start_nginx
for n in 1 2; do
	await "api$n" curl -fsS "http://127.0.0.1:808$n/readyz"
done
for n in 1 2 3; do
	await "worker$n" curl -fsS "http://127.0.0.1:808$((n + 2))/readyz"
done
await nginx curl -fsS "http://127.0.0.1:$port/readyz"

echo "The fleet answers on http://127.0.0.1:$port with the API key $key (docs: http://127.0.0.1:$port/docs)"
echo "Upload and watch in a browser: http://127.0.0.1:$port/"
echo "Processes, to be killed as you like:$processes"
echo "Logs: $dir/log   Workers: SPOOL_DATABASE_URL='$SPOOL_DATABASE_URL' bin/spool workers"

# api METHOD PATH [BODY] asks the fleet.
api() {
	curl -fsS -X "$1" -H "X-API-KEY: $key" -H 'Content-Type: application/json' ${3:+-d "$3"} "http://127.0.0.1:$port$2"
}

# field NAME prints a text field of the JSON on standard input.
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | head -n 1; }

show_film() {
	film=$dir/film.mp4
	echo "Making a film of two minutes"
	ffmpeg -v error -f lavfi -i testsrc2=size=1280x720:rate=25 -f lavfi -i sine -t 120 -g 50 -c:v libx264 -preset ultrafast -c:a aac "$film"
	created=$(api POST /api/video '{"filename": "film.mp4", "resolutions": ["720p", "480p", "240p"], "isPublic": true, "thumbnailTimestampsSeconds": [1, 60]}')
	id=$(printf '%s' "$created" | field id)
	address=$(printf '%s' "$created" | field uploadUrl | sed 's/\\u0026/\&/g')
	curl -fsS -T "$film" -H "Content-Type: $(printf '%s' "$created" | field contentType)" "$address"
	api POST "/api/video/$id/complete-upload" '{}' >/dev/null
	echo "Uploaded $id straight to the bucket; who works on it:"
	while :; do
		# Whoever kills a piece of the fleet wants to see how the rest goes on.
		state=$(api GET "/api/video/$id/public") || { sleep 2 && continue; }
		"$spool" workers || true
		echo
		case $(printf '%s' "$state" | field status) in
		processing) sleep 2 ;;
		*) break ;;
		esac
	done
	printf '%s\n' "$state"
}

[ "${1:-}" = --idle ] || show_film
echo "Ctrl-C stops the fleet."
wait
