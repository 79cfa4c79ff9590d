# Spool needs Go and make; everything else that these targets use is installed
# by scripts/install-deps.sh.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Runs checks and tests side by side; see test/run.
RUN      = GO='$(GO)' CGO_ENABLED=0 $(GO) run -trimpath -gcflags=all=-dwarf=false ./test/run

MUTANTS ?= 2000

.DEFAULT_GOAL := help
.PHONY: help build run cluster test test-quick test-long test-fleet test-cluster test-packaging test-clients test-container test-systemd test-arm64 release test-release test-deb test-upgrade lint race crash chaos mutants scale abuse bench study fuzz cover clean deps deps-test deps-clients deps-cluster deps-container deps-arm64

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# With the flags of test/run, so that what is compiled here need not be compiled there.
build: ## Build bin/spool
	CGO_ENABLED=0 $(GO) build -trimpath -gcflags=all=-dwarf=false -ldflags '-s -w -X main.version=$(VERSION)' -o bin/spool ./cmd/spool

run: deps build ## Install ffmpeg when it is missing, build and run the service
	exec bin/spool serve

cluster: deps-cluster build ## Run a fleet on this machine: PostgreSQL, S3, two API processes, three workers
	exec scripts/cluster.sh

# With SPOOL_TEST_REQUIRE_ALL=1, as the continuous integration sets it, a missing
# tool is a failure. Without it the tests that need the tool are skipped, and the
# end of the output lists them.
test: deps-test ## Check and test everything, as the continuous integration does: about ten minutes on two idle cores
	$(RUN) test

test-quick: ## Run the tests that take seconds, for the inner loop
	$(RUN) quick

test-long: deps-test ## Run what takes long beside that: every fault of a fleet, all end-to-end tests on both back ends, large frames, slow bombs, a simulated fleet, MinIO
	@scripts/install-s3.sh minio
	$(RUN) long

test-fleet: deps-test ## Run the end-to-end tests on PostgreSQL and S3
	SPOOL_TEST_BACKEND=fleet $(GO) test -count=1 -timeout 20m ./test/e2e

# The short run in test has the most telling faults; this one has them all. For
# one of them everything is built once more, on another time package.
test-cluster: deps-test ## Break a fleet of real processes in every way we know
	$(GO) test -count=1 -parallel 4 -timeout 30m ./test/cluster

test-packaging: ## Check the files in packaging against the types of Kubernetes and Docker Compose, traces with the OpenTelemetry collector, and that every licence is known
	$(GO) test -C test/packaging -count=1 ./...
	$(GO) test -C test/collector -count=1 ./...
	$(GO) test -C tools/release -count=1 ./spdx

# It needs Node and npm, and downloads what package-lock.json and go.sum name.
test-clients: deps-clients build ## Run our TypeScript client, Uppy, tus-js-client, what client generators make, DASH players and Firefox against the real server
	cd clients/typescript && npm ci --no-audit --no-fund && npm run generate && git diff --exit-code src/openapi.gen.ts && npm test
	cd test/clients && npm ci --no-audit --no-fund && npm test

# The first time it makes its images, which takes minutes. They stay, as localhost/spool-test/….
test-container: deps-container ## Build the images and run the services of the compose file with podman; send a film through (root)
	SPOOL_TEST_CONTAINER=1 $(GO) test -C test/packaging -count=1 -v -timeout 60m -run TestFleetInContainers ./...

test-systemd: deps build ## Start the unit under a real systemd, in namespaces of its own, and send a film through (root)
	scripts/test-systemd.sh

# Emulation knows neither Landlock nor seccomp: what the filter says is tested, not that a kernel enforces it.
arm64 = GOARCH=arm64 CGO_ENABLED=0 $(GO)
qemu  = $(shell command -v qemu-aarch64-static || command -v qemu-aarch64)
test-arm64: deps-arm64 ## Build for arm64; run the program and the tests that need no other process under emulation
	$(arm64) build -trimpath -o bin/spool-arm64 ./cmd/spool
	$(qemu) bin/spool-arm64 --version
	$(arm64) vet ./internal/engine/sandbox/...
	$(arm64) test -trimpath -count=1 -exec '$(qemu)' -run 'Filter' -v ./internal/engine/sandbox/launch
	$(arm64) test -trimpath -count=1 -exec '$(qemu)' ./internal/video ./internal/service/objects ./internal/service/auth/sign ./internal/engine/plan

# The time of the last commit is the time of every file: so everybody makes the same bytes.
EPOCH   ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1)
TARGETS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64
release: ## Make what is published: archives, Debian packages, bills of materials, checksums (bin/release)
	$(GO) run -C tools/release . -root $(CURDIR) -out $(CURDIR)/bin/release -version $(VERSION) -epoch $(EPOCH) -targets $(TARGETS)

test-release: ## Make a release twice, in two folders with two caches, and want the same bytes
	GO='$(GO)' scripts/test-release.sh $(VERSION) $(EPOCH) $(TARGETS)

test-deb: ## Install the Debian package of bin/release with dpkg, in a copy of this machine (root; make release first)
	scripts/test-deb.sh

test-upgrade: deps-test ## Upgrade from an older version with data of every kind, on SQLite and on PostgreSQL and S3
	SPOOL_TEST_UPGRADE=1 $(GO) test -count=1 -timeout 30m -v -run TestUpgrade ./test/e2e
	SPOOL_TEST_UPGRADE=1 SPOOL_TEST_BACKEND=fleet $(GO) test -count=1 -timeout 30m -v -run TestUpgrade ./test/e2e

lint: ## Check formatting, go vet, staticcheck, import rules and sizes
	$(RUN) lint

race: ## Run the tests of concurrent packages under the race detector
	$(RUN) race

crash: deps ## Kill the server 50 times at random moments and look for losses
	SPOOL_TEST_ROUNDS=50 $(GO) test -count=1 -timeout 20m -run RandomKills -v ./test/e2e

chaos: deps-test ## 100 rounds of random kills, stops and cuts over a fleet with 20 videos in work
	SPOOL_TEST_ROUNDS=100 $(GO) test -count=1 -timeout 60m -run TestChaos -v ./test/cluster

mutants: deps-test ## Send 2,000 damaged videos and every bomb through the engine; keeps those that cause errors in bin/mutants
	mkdir -p bin/mutants
	SPOOL_TEST_MUTANTS=$(MUTANTS) $(GO) test -count=1 -timeout 2h -v -artifacts -outputdir $(CURDIR)/bin/mutants ./test/hostile

scale: deps-test ## Simulate a thousand workers, and measure what one database carries
	SPOOL_SCALE_WORKERS=1000 SPOOL_SCALE_COSTS=1 $(GO) test -count=1 -timeout 2h -v ./test/scale

abuse: deps ## Attack the built program as hostile clients would, and measure what others notice (writes docs/abuse.md)
	SPOOL_ABUSE=1 SPOOL_ABUSE_REPORT=$(CURDIR)/docs/abuse.md $(GO) test -count=1 -parallel 8 -timeout 60m -v -run TestAbuse ./test/abuse

bench: deps-test ## Measure the engine against the limit, delivery against nginx and searches in a million videos (writes docs/benchmarks.md), and the hot paths
	$(GO) test -run '^$$' -bench Engine -benchtime 1x -timeout 2h ./internal/engine/encode -report $(CURDIR)/docs/benchmarks.md
	$(GO) test -run '^$$' -bench ShortClip -benchtime 10x ./test/e2e -report $(CURDIR)/docs/benchmarks.md
	$(GO) test -run '^$$' -bench Delivery -benchtime 1x -timeout 1h ./test/e2e -report $(CURDIR)/docs/benchmarks.md
	$(GO) test -run '^$$' -bench Search -benchtime 1x -timeout 2h ./test/scale -report $(CURDIR)/docs/benchmarks.md
	$(GO) test -run '^$$' -bench . -skip 'Engine|Study|ShortClip|Delivery|Search' -benchmem ./...

# Which videos, how much of them, which sizes, and which encoder options to try beside (a regular expression of names in
# study_options_test.go). VMAF needs libvmaf's program vmaf in PATH, or an ffmpeg that has libvmaf.
# An odd number: an excerpt that ends just behind a keyframe, which there is every two seconds, tells little of a whole video.
STUDY_SECONDS ?= 3
STUDY_SIZES   ?= 1080p,480p
OPTIONS       ?=
study: deps-test ## Compare our H.264 and AV1 with x264 veryfast at equal VMAF: bytes and CPU (writes docs/encoding.md); OPTIONS=x264 tries encoder options too
	$(GO) test -run '^$$' -bench Study -benchtime 1x -timeout 6h -v ./internal/engine/encode -seconds $(STUDY_SECONDS) -sizes $(STUDY_SIZES) -options '$(OPTIONS)' -report $(CURDIR)/docs/encoding.md

fuzz: ## Fuzz each fuzz test for FUZZTIME (default 20s)
	GO='$(GO)' scripts/fuzz.sh

cover: ## Measure which code the tests reach; writes coverage.out
	$(GO) test -coverpkg=./... -coverprofile=coverage.out ./...
	$(GO) tool cover -func=coverage.out | tail -n 1

clean: ## Remove what was built; the data directory stays
	rm -rf bin coverage.out

deps: ## Install what running needs (ffmpeg)
	@scripts/install-deps.sh run

deps-test:
	@scripts/install-deps.sh test

deps-clients:
	@scripts/install-deps.sh clients

deps-cluster:
	@scripts/install-deps.sh cluster

deps-container:
	@scripts/install-deps.sh container

deps-arm64:
	@scripts/install-deps.sh arm64
