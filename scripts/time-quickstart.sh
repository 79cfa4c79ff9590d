#!/bin/sh
# Follows docs/quickstart.md as a new user does, in an empty folder, and says how long it took.
#   make build && scripts/time-quickstart.sh
# It needs ffmpeg, curl, and port 8080 (or SPOOL_LISTEN=127.0.0.1:PORT).
set -eu
cd "$(dirname "$0")/.."
PATH=$(pwd)/bin:$PATH
listen=${SPOOL_LISTEN:-127.0.0.1:8080}
export SPOOL_LISTEN="$listen" SPOOL_SERVER="http://$listen"
unset SPOOL_API_KEY SPOOL_DATA_DIR || true
here=$(mktemp -d)
cd "$here"
server='' listener=''
end() {
	for process in $listener $server; do kill "$process" 2>/dev/null && wait "$process" 2>/dev/null || true; done
	rm -rf "$here"
}
trap end EXIT
trap 'exit 1' INT TERM
now() { date +%s.%N; }
since() { echo "$1 $(now)" | awk '{printf "%.1f", $2 - $1}'; }
until_true() { # SECONDS COMMAND…
	left=$(($1 * 10)); shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || { echo "waited in vain for: $*" >&2; cat serve.log events.log >&2; exit 1; }
		sleep 0.1
	done
}
ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=size=1280x720:rate=30 -f lavfi -i sine -t 5 -preset ultrafast -pix_fmt yuv420p film.mp4
printf 'WEBVTT\n\n00:00.000 --> 00:04.000\nHello.\n' >film.en.vtt

began=$(now)
spool serve >serve.log 2>&1 &
server=$!
until_true 120 grep -qo 'spool_[A-Za-z0-9_-]\{20,\}' serve.log
until_true 120 curl -fsS "$SPOOL_SERVER/readyz"
SPOOL_API_KEY=$(grep -o 'spool_[A-Za-z0-9_-]\{20,\}' serve.log | head -n 1)
export SPOOL_API_KEY
started=$(since "$began")

spool webhooks listen >events.log 2>&1 &
listener=$!
uploading=$(now)
spool upload film.mp4 --public --captions film.en.vtt --wait >upload.log 2>&1 || { cat upload.log >&2; exit 1; }
uploaded=$(since "$uploading")
until_true 60 grep -q '"type":"video.ready"' events.log
id=$(spool ls | grep -o '^[0-9a-f-]\{36\}' | head -n 1)
curl -fsS "$SPOOL_SERVER/embed/$id" | grep -q spool-player
spool get "$id" | grep -q 'captions-en'
echo "From the first command to the event and the page: $(since "$began") s; the server took $started to start, and the film $uploaded from upload to ready."
echo "Load average: $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || uptime), $(getconf _NPROCESSORS_ONLN) cores."
