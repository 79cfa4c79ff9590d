#!/bin/sh
# Makes a release twice, in different folders and with different build caches, and wants
# the same bytes. Then looks at what is in it.
#   make test-release                        all targets: some minutes on two cores
#   make test-release TARGETS=linux/amd64    one of them
set -eu
cd "$(dirname "$0")/.."
repository=$(pwd)
version=$1 epoch=$2 targets=$3
here=$(mktemp -d)
trap 'chmod -R u+w "$here"; rm -rf "$here"' EXIT

# What git knows, as it is now, in two folders.
for copy in "$here/one" "$here/another/place"; do
	mkdir -p "$copy"
	git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy"
done

make_release() { # FOLDER OUT
	${GO:-go} run -C "$repository/tools/release" . -root "$1" -out "$2" -version "$version" -epoch "$epoch" -targets "$targets"
}
make_release "$here/one" "$here/out1"
GOCACHE=$here/cache make_release "$here/another/place" "$here/out2"
diff -r "$here/out1" "$here/out2"
echo "two builds are equal:"
(cd "$here/out1" && sha256sum -c SHA256SUMS && ls -l)

# What is in it.
for archive in "$here"/out1/*.tar.gz; do
	name=$(basename "$archive" .tar.gz)
	tar -xzf "$archive" -C "$here"
	for file in spool LICENSE THIRD_PARTY_LICENSES.txt spool.example.toml completions/spool.bash completions/_spool completions/spool.fish; do
		[ -s "$here/$name/$file" ] || { echo "$name has no $file" >&2; exit 1; }
	done
	case $name in
	*linux*) [ -s "$here/$name/systemd/spool.service" ] || { echo "$name has no unit" >&2; exit 1; } ;;
	esac
	for part in media-chrome hls.js swagger-ui modernc.org/sqlite; do
		grep -q "^$part " "$here/$name/THIRD_PARTY_LICENSES.txt" || { echo "the licence of $part is missing in $name" >&2; exit 1; }
		grep -q "\"name\": \"$part\"" "$here/out1/$name.cdx.json" || { echo "$part is missing in the bill of materials of $name" >&2; exit 1; }
	done
done
native=$(uname -s | tr A-Z a-z)_$(${GO:-go} env GOHOSTARCH)
if [ -x "$here"/spool_*_"$native"/spool ]; then
	"$here"/spool_*_"$native"/spool version | grep -F "$version"
	! ldd "$here"/spool_*_"$native"/spool 2>/dev/null || { echo "the binary is not static" >&2; exit 1; }
fi
echo "the release is complete"
