#!/bin/sh
# Builds an S3 server that the tests of the storage run against into .cache/bin,
# unless that version is there already.
#   install-s3.sh [versitygw]   the usual one; takes a minute or two, once
#   install-s3.sh minio         another one, for make test-long; about five minutes
set -eu
cd "$(dirname "$0")/.."
bin=$(pwd)/.cache/bin
name=${1:-versitygw}
case $name in
versitygw) version=$(sed -n 's,.*github.com/versity/versitygw \(v[0-9.]*\).*,\1,p' test/s3server/go.mod) ;;
minio) version=v0.0.0-20260212201848-7aac2a2c5b7c ;;
*)
	echo "usage: $0 [versitygw|minio]" >&2
	exit 2
	;;
esac

# The version is kept beside the program, which does not know its own when it is
# built like this.
if [ -x "$bin/$name" ] && [ "$(cat "$bin/$name.version" 2>/dev/null)" = "$version" ]; then
	exit 0
fi
echo "Building $name $version for the tests of S3 storage (some minutes)"
mkdir -p "$bin"
export CGO_ENABLED=0 GOFLAGS=-trimpath
case $name in
# What it shares with Spool, the standard library and the AWS SDK, is compiled with the flags of the Makefile, and so
# only once; the rest without inlining, which takes a fifth less time. The compiler collects hardly any garbage.
versitygw)
	(cd test/s3server && "${GO:-go}" build -gcflags=all=-dwarf=false -gcflags='github.com/...=-dwarf=false -l' -gcflags='github.com/aws/...=-dwarf=false' \
		-ldflags='-s -w' -toolexec="env GOGC=off GOMEMLIMIT=1GiB" -o "$bin/versitygw" .)
	;;
minio) GOBIN=$bin "${GO:-go}" install "github.com/minio/minio@$version" ;;
esac
echo "$version" >"$bin/$name.version"
