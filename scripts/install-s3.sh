#!/bin/sh
# Builds the S3 server that the tests of the storage run against, versitygw, into
# .cache/bin, unless that version is there already. It takes some minutes once.
set -eu
version=v1.8.0
cd "$(dirname "$0")/.."
bin=$(pwd)/.cache/bin

# The version is kept beside the program, which does not know its own when it is
# built like this.
if [ -x "$bin/versitygw" ] && [ "$(cat "$bin/versitygw.version" 2>/dev/null)" = "$version" ]; then
	exit 0
fi
echo "Building versitygw $version for the tests of S3 storage (some minutes)"
mkdir -p "$bin"
GOBIN=$bin CGO_ENABLED=0 GOFLAGS=-trimpath "${GO:-go}" install "github.com/versity/versitygw/cmd/versitygw@$version"
echo "$version" >"$bin/versitygw.version"
