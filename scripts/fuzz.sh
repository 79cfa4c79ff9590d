#!/bin/sh
# Runs every fuzz test for FUZZTIME each: the go command fuzzes one at a time.
set -eu
go=${GO:-go}
for package in $("$go" list ./...); do
	for target in $("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target"
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" "$package"
	done
done
