#!/bin/sh
# Makes what a release has beside the program and the files of the repository: completions, units for
# packages, and the licences of everything that is in the program.
#   release-files.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
out=$1
go=${GO:-go}
rm -rf "$out"
mkdir -p "$out/completions" "$out/systemd"

CGO_ENABLED=0 "$go" build -trimpath -o "$out/spool" ./cmd/spool
"$out/spool" completion bash >"$out/completions/spool.bash"
"$out/spool" completion zsh >"$out/completions/_spool"
"$out/spool" completion fish >"$out/completions/spool.fish"

for unit in packaging/systemd/*.service; do # what a package installs is not below /usr/local
	sed 's|/usr/local/bin/spool|/usr/bin/spool|' "$unit" >"$out/systemd/${unit##*/}"
done

# licence NAME FILE... prints the licence files of one part.
licence() {
	name=$1
	shift
	[ -r "${1-}" ] || { echo "$name has no licence file" >&2; exit 1; }
	printf '\n==============================================================================\n%s\n\n' "$name"
	cat "$@"
}
{
	echo "Spool contains the following software of others, under these licences."
	licence "Go $("$go" env GOVERSION)" "$("$go" env GOROOT)/LICENSE"
	for os in linux darwin; do
		GOOS=$os "$go" list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/spool
	done | LC_ALL=C sort -u | while read -r module version dir; do
		files=$(find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'patents*' \) | LC_ALL=C sort)
		licence "$module $version" $files
	done
	licence media-chrome internal/web/player/thirdparty/media-chrome.LICENSE
	licence hls.js internal/web/player/thirdparty/hls.LICENSE
	licence Geist internal/web/assets/design/OFL.txt
} >"$out/THIRD_PARTY_LICENSES.txt"
