#!/bin/sh
# Builds the OpenID provider that tests sign in with, test/dexserver, into .cache/bin, unless that version is there already.
# It takes some minutes, once.
set -eu
cd "$(dirname "$0")/.."
bin=$(pwd)/.cache/bin
version=$(cat test/dexserver/go.mod test/dexserver/main.go | cksum)
if [ -x "$bin/dexserver" ] && [ "$(cat "$bin/dexserver.version" 2>/dev/null)" = "$version" ]; then
	exit 0
fi
echo "Building dex for the tests of signing in (some minutes)"
mkdir -p "$bin"
export CGO_ENABLED=0 GOFLAGS=-trimpath
(cd test/dexserver && "${GO:-go}" build -gcflags=all=-dwarf=false -ldflags='-s -w' -o "$bin/dexserver" .)
echo "$version" >"$bin/dexserver.version"
