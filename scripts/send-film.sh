#!/bin/sh
# Sends a film of six seconds through a running Spool and plays what comes out.
#   send-film.sh URL API_KEY
set -eu
spool=$1 key=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# await SECONDS COMMAND... repeats a command until it succeeds.
await() {
	left=$1
	shift
	until "$@"; do
		left=$((left - 1))
		if [ $left -le 0 ]; then
			echo "waited in vain for: $*" >&2
			exit 1
		fi
		sleep 1
	done
}

api() { curl -fsS -H "X-API-KEY: $key" -H 'Content-Type: application/json' "$@"; }

# field NAME prints a text field of the JSON on standard input.
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | sed 's/\\u0026/\&/g' | head -n 1; }

is_ready() { curl -fs "$spool/readyz"; }
is_done() {
	state=$(api "$spool/api/video/$id")
	! printf '%s' "$state" | grep -q '"status": *"processing"'
}

await 120 is_ready
ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=25 -f lavfi -i sine -t 6 -c:v libx264 -preset ultrafast -c:a aac "$dir/film.mp4"
created=$(api "$spool/api/video" -d '{"filename": "film.mp4", "resolutions": ["360p", "240p"], "isPublic": true, "thumbnailTimestampsSeconds": [1]}')
id=$(printf '%s' "$created" | grep -o '"id": *"[^"]*"' | head -n 1 | cut -d '"' -f 4)
curl -fsS -T "$dir/film.mp4" -H 'Content-Type: video/mp4' "$(printf '%s' "$created" | field uploadUrl)"
api -X POST "$spool/api/video/$id/complete-upload" -o /dev/null
await 300 is_done
for size in 360 240; do
	curl -fsSL "$spool/v/$id/${size}p.mp4" -o "$dir/$size.mp4"
	seen=$(ffprobe -v error -select_streams v -count_frames -show_entries stream=codec_name,height,nb_read_frames -of csv=p=0 "$dir/$size.mp4")
	[ "$seen" = "h264,$size,150" ] || { echo "${size}p.mp4 is $seen; want h264,$size,150" >&2; exit 1; }
done
curl -fsSL "$spool/v/$id/360p-0.jpg" -o "$dir/thumbnail.jpg"
ffprobe -v error "$dir/thumbnail.jpg"
curl -fsS "$spool/v/$id/master.m3u8" | grep -q '^#EXTM3U'
echo "The film went through: $state"
