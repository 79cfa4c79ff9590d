#!/bin/sh
# Builds the S3 server that the tests of the storage run against, versitygw, into
# .cache/bin, unless that version is there already. It takes a minute or two, once.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's,.*github.com/versity/versitygw \(v[0-9.]*\).*,\1,p' test/s3server/go.mod)
bin=$(pwd)/.cache/bin

# The version is kept beside the program, which does not know its own when it is
# built like this.
if [ -x "$bin/versitygw" ] && [ "$(cat "$bin/versitygw.version" 2>/dev/null)" = "$version" ]; then
	exit 0
fi
echo "Building versitygw $version for the tests of S3 storage (a minute or two)"
mkdir -p "$bin"
# What it shares with Spool is compiled with the same flags, and so only once.
(cd test/s3server && CGO_ENABLED=0 GOFLAGS=-trimpath "${GO:-go}" build -o "$bin/versitygw" .)
echo "$version" >"$bin/versitygw.version"
