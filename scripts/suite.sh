#!/bin/sh
# Runs a suite that takes too long for every change: make test-long SUITE=NAME.
#   long       what make test leaves out, on both back ends; MinIO; packaging
#   cluster    every fault of a fleet of real processes that we know
#   chaos      100 rounds of random kills, stops and cuts over a fleet with 20 videos in work (ROUNDS)
#   crash      kills the server 50 times at random moments and looks for losses (ROUNDS)
#   upgrade    upgrades from an older version with data of every kind, on both back ends
#   mutants    2,000 damaged videos and every bomb (MUTANTS); keeps those that cause errors in bin/mutants
#   scale      simulates a thousand workers, and measures what one database carries
#   abuse      attacks the built program as hostile clients would (root; writes docs/abuse.md)
#   clients    our TypeScript client and elements, Uppy, tus-js-client, what client generators make, DASH players and
#              Firefox against the real server; needs Node and npm, and downloads
#   pictures   makes the pictures of the README, in docs/images
#   speech     a real program that writes down what is said, as docs/transcription.md sets it up
#   packaging  the files in packaging against the types of Kubernetes, Docker Compose and Prometheus; traces
#              with the OpenTelemetry collector
#   container  builds the images and runs the services of the compose file with podman (root); the first
#              time takes minutes, the images stay as localhost/spool-test/…
#   systemd    starts the unit under a real systemd, in namespaces of its own, and sends a film through (root)
#   deb        installs the Debian package of bin/release in a copy of this machine (root; make release first)
#   arm64      runs under emulation what needs no other process. Emulation knows neither Landlock nor
#              seccomp: what the filter says is tested, not that a kernel enforces it
set -eu
cd "$(dirname "$0")/.."
here=$(pwd)
go=${GO:-go}
deps() { scripts/install-deps.sh "$1"; }
# The go command kills a package that takes longer than the first argument.
tests() { limit=$1 && shift && "$go" test -count=1 -timeout "$limit" "$@"; }

long() {
	deps test
	deps speech
	scripts/install-s3.sh minio
	export SPOOL_TEST_LONG=1
	tests 3h -p 1 -parallel 4 ./...
	SPOOL_TEST_BACKEND=fleet tests 1h ./test/e2e
	SPOOL_TEST_S3=minio tests 20m ./internal/backend/blob/s3/...
	packaging
}

packaging() {
	(cd test/packaging && tests 20m ./...)
	(cd test/collector && tests 20m ./...)
}

case ${1-} in
long) long ;;
cluster) # TestScaleOut measures speed, which wants an idle machine
	deps test
	SPOOL_TEST_LONG=1 tests 60m -parallel 4 -skip ScaleOut ./test/cluster
	;;
chaos)
	deps test
	SPOOL_TEST_LONG=1 SPOOL_TEST_ROUNDS=${ROUNDS:-100} tests 60m -run TestChaos -v ./test/cluster
	;;
crash)
	deps run
	SPOOL_TEST_ROUNDS=${ROUNDS:-50} tests 20m -run RandomKills -v ./test/e2e
	;;
upgrade)
	deps test
	export SPOOL_TEST_UPGRADE=1
	tests 30m -v -run TestUpgrade ./test/e2e
	SPOOL_TEST_BACKEND=fleet tests 30m -v -run TestUpgrade ./test/e2e
	;;
mutants)
	deps test
	mkdir -p bin/mutants
	SPOOL_TEST_MUTANTS=${MUTANTS:-2000} tests 2h -v -artifacts -outputdir "$here/bin/mutants" ./test/hostile
	;;
scale)
	deps test
	SPOOL_SCALE_WORKERS=1000 SPOOL_SCALE_COSTS=1 tests 2h -v ./test/scale
	;;
abuse)
	deps run
	SPOOL_ABUSE=1 SPOOL_ABUSE_REPORT=$here/docs/abuse.md tests 60m -parallel 8 -v -run TestAbuse ./test/abuse
	;;
clients)
	deps clients
	make build
	(cd clients/typescript && npm ci --no-audit --no-fund && npm run generate && git diff --exit-code src/openapi.gen.ts && npm test)
	(cd clients/elements && npm ci --no-audit --no-fund && npm test)
	(cd test/clients && npm ci --no-audit --no-fund && npm test)
	;;
pictures)
	deps test
	SPOOL_README_PICTURES=$here/docs/images tests 20m -run PicturesOfTheREADME ./test/e2e
	;;
speech)
	deps speech
	SPOOL_TEST_LONG=1 tests 20m -v -run SpeechEngine ./internal/engine/speech
	;;
packaging) packaging ;;
container)
	deps container
	cd test/packaging
	SPOOL_TEST_CONTAINER=1 tests 60m -v -run TestFleetInContainers ./...
	;;
systemd)
	deps run
	make build
	scripts/test-systemd.sh
	;;
deb) scripts/test-deb.sh ;;
arm64)
	deps arm64
	qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
	export GOARCH=arm64
	"$go" build -o bin/spool-arm64 ./cmd/spool
	"$qemu" bin/spool-arm64 --version
	"$go" vet ./internal/engine/sandbox/...
	tests 20m -exec "$qemu" -run Filter -v ./internal/engine/sandbox/launch
	tests 20m -exec "$qemu" ./internal/video ./internal/service/objects ./internal/service/auth/sign ./internal/engine/plan
	;;
*)
	sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0" >&2
	exit 2
	;;
esac
