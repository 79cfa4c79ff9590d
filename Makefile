# Spool needs Go and make; everything else that these targets use is installed
# by scripts/install-deps.sh.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# What tests compile and what make build compiles is the same, and lies in Go's cache once.
export GOFLAGS     := $(shell $(GO) env GOFLAGS 2>/dev/null) -trimpath
export CGO_ENABLED ?= 0
export GO

# A test that asks for no account must not find somebody's.
unexport $(filter AWS_%,$(.VARIABLES))

.DEFAULT_GOAL := help
.PHONY: help deps build run cluster site deps-test lint test test-long test-upgrade fuzz bench study release clean

help: ## Show this list
	@awk -F ':.*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Build and run
deps: ## Install what running needs (ffmpeg)
	@scripts/install-deps.sh run

build: ## Build bin/spool
	$(GO) build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/spool ./cmd/spool

run: deps build ## Install ffmpeg when it is missing, build and run the service
	exec bin/spool serve

cluster: build ## Run a fleet on this machine: PostgreSQL, S3, two API processes, three workers
	@scripts/install-deps.sh cluster
	exec scripts/cluster.sh

site: build ## Write the handbook as files for a web server (bin/site)
	bin/spool docs bin/site

##@ Test
deps-test: ## Install what the tests need; after it, go test ./... runs everything
	@scripts/install-deps.sh test

lint: ## Check formatting, go vet, staticcheck, import rules and sizes
	@files=$$(gofmt -l client cmd internal test); [ -z "$$files" ] || { echo "not formatted, run gofmt -w: $$files"; exit 1; }
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck ./...
	$(GO) test ./internal/arch

# Packages in which goroutines meet run with the race detector, which needs cgo. It looks names up as the program does,
# which has no C in it, and leaves SQLite alone: that is C which was translated to Go, and takes minutes to compile
# when it is watched. All other packages wait for ffmpeg or the built program, or compute alone.
RACE      = ./client/... ./cmd/... ./internal/backend/... ./internal/cache/... ./internal/clientcmd/... ./internal/doctor/... \
            ./internal/engine/stream/... ./internal/limit/... ./internal/panics/... ./internal/service/... ./internal/web/... \
            ./internal/worker/...
RACEFLAGS = -race -tags=netgo,osusergo -gcflags='modernc.org/...=-race=false'
TESTFLAGS = -vet=off -ldflags='-s -w' -timeout=20m

# A few tests that fail are run once more, and the end says which: with two busy cores something is late now and then.
# One that needs it more than once is a fault to mend.
GOTEST = bin/gotestsum --format=pkgname --rerun-fails=1 --rerun-fails-max-failures=5

# With SPOOL_TEST_REQUIRE_ALL=1, as the continuous integration sets it, a missing
# tool is a failure. Without it the tests that need the tool are skipped, and the
# end of the output lists them.
test: deps-test lint bin/gotestsum ## Check and test everything, as the continuous integration does
	$(GOTEST) --packages='$(filter-out $(shell $(GO) list $(RACE)),$(shell $(GO) list ./...))' -- $(TESTFLAGS)
	CGO_ENABLED=1 $(GOTEST) --packages='$(shell $(GO) list $(RACE))' -- $(TESTFLAGS) $(RACEFLAGS)
	SPOOL_TEST_BACKEND=fleet $(GOTEST) --packages=./test/e2e -- $(TESTFLAGS)

# It prints one line for each package, and at the end what failed and what was skipped, with the reason.
bin/gotestsum: go.mod
	@$(GO) build -o $@ gotest.tools/gotestsum

##@ Suites that take longer
SUITE ?= long
test-long: ## What make test leaves out; SUITE=cluster, chaos, crash, clients, packaging, … runs one (see scripts/suite.sh)
	@scripts/suite.sh $(SUITE)

test-upgrade: ## Upgrade from an older version with data of every kind, on SQLite and on PostgreSQL and S3
	@scripts/suite.sh upgrade

fuzz: ## Fuzz each fuzz test for FUZZTIME (default 20s)
	scripts/fuzz.sh

bench: deps-test ## Measure the engine, delivery and searches (writes docs/benchmarks.md), and the hot paths
	$(GO) test -run '^$$' -bench Engine -benchtime 1x -timeout 2h ./internal/engine/encode -report $(CURDIR)/docs/benchmarks.md
	$(GO) test -run '^$$' -bench ShortClip -benchtime 10x ./test/e2e -report $(CURDIR)/docs/benchmarks.md
	$(GO) test -run '^$$' -bench Delivery -benchtime 1x -timeout 1h ./test/e2e -report $(CURDIR)/docs/benchmarks.md
	$(GO) test -run '^$$' -bench Search -benchtime 1x -timeout 2h ./test/scale -report $(CURDIR)/docs/benchmarks.md
	$(GO) test -run '^$$' -bench . -skip 'Engine|Study|ShortClip|Delivery|Search' -benchmem ./...

# It needs the real footage (SPOOL_TEST_MEDIA) and libvmaf's program vmaf in PATH. With TUNE=1 it takes the clips by which
# settings are chosen, at several CRF, and writes nothing.
STUDY_SECONDS ?= 2
study: deps-test ## Compare our H.264 and AV1 with x264 veryfast at equal VMAF (writes docs/encoding.md)
	$(GO) test -run '^$$' -bench Study -benchtime 1x -timeout 6h -v ./internal/engine/encode -seconds $(STUDY_SECONDS) $(if $(TUNE),-tune) -report $(CURDIR)/docs/encoding.md

##@ Release
# With SNAPSHOT= goreleaser wants a tag and no changed file. Nothing is published from here.
GORELEASER ?= $(GO) run github.com/goreleaser/goreleaser/v2@v2.15.2
SNAPSHOT   ?= --snapshot
release: ## Make what is published: archives, Debian packages, checksums (bin/release)
	$(GORELEASER) release --clean --skip=publish,announce$(if $(shell command -v syft),,$(comma)sbom) $(SNAPSHOT)
comma := ,

##@ Clean
clean: ## Remove what was built; the data directory stays
	rm -rf bin coverage.out
