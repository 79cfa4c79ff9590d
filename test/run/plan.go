package main

import (
	"fmt"
	"slices"
)

var (
	// Packages that run without the race detector: they wait for ffmpeg or for
	// the built program, compute alone, or limit their own memory. Every other
	// package runs with it, and only so.
	withoutRace = either(sequential, both(below("internal/arch", "internal/engine", "internal/video", "test"), not(below("internal/engine/stream"))))
	// Packages below other folders that start no goroutine, and whose tests start none.
	sequential = among("internal/backend/blob", "internal/backend/queue", "internal/service/objects", "internal/service/tenants",
		"internal/web/console", "internal/web/player")
	// Their tests build the program, which the cache of test results cannot know.
	program = below("test/e2e")
	fleet   = below("test/cluster")
	// It has a target of its own. The checks compile it.
	attacks = below("test/abuse")
	// Packages that a run of the fast tests leaves out.
	slow = below("cmd/spool", "internal/backend/blob/s3", "internal/backend/queue/river", "internal/backend/store",
		"internal/engine/encode", "internal/engine/mp4", "internal/engine/sandbox", "internal/service/backup", "internal/service/webhook",
		"internal/web/tus", "internal/worker", "test/abuse", "test/cluster", "test/e2e", "test/hostile", "test/scale")
	// Packages with tests that ask for time.
	long = below("cmd/spool", "internal/backend/blob/s3", "internal/backend/store", "internal/engine", "internal/service/webhook", "test")
)

// There are two builds of the program and its libraries, and each is compiled
// once: the one that make build makes, and that of the race detector, which needs
// cgo.
var (
	usual  = []string{"CGO_ENABLED=0"}
	racing = []string{"CGO_ENABLED=1"}
)

// lane is a list of jobs that run one after the other.
type lane []job

// The checks that need no test.
var (
	gofmt = job{name: "lint", what: "gofmt", check: formatted}
	vet   = job{name: "lint", what: "go vet", args: []string{"vet", "./..."}, env: usual}
	// Not as "go tool staticcheck", which heeds none of the build flags and compiles the standard library once more.
	staticcheck = job{name: "lint", what: "staticcheck", args: []string{"run", "honnef.co/go/tools/cmd/staticcheck", "./..."}, env: append(usual, "GOGC=800", "GOMEMLIMIT=3GiB")}
)

// packagingTests have a module of their own, whose dependencies Spool does not need.
var packagingTests = job{name: "long", what: "test/packaging", args: []string{"test", "-C", "test/packaging", "-count=1", "./..."}, env: usual}

// collectorTests have one too, for the receiver of the OpenTelemetry collector.
var collectorTests = job{name: "long", what: "test/collector", args: []string{"test", "-C", "test/collector", "-count=1", "./..."}, env: usual}

// minio runs the tests of the storage once more, on another S3 server.
func minio(all selection) job {
	return test("minio", append(usual, "SPOOL_TEST_S3=minio"), all.of(below("internal/backend/blob/s3")), "-count=1", patient)
}

// plan returns what to do for a target of the Makefile.
func plan(target string, packages []string) ([]lane, error) {
	all := selection(packages)
	switch target {
	case "lint":
		return []lane{{gofmt, vet, staticcheck, test("lint", usual, all.of(below("internal/arch")))}}, nil
	case "quick":
		return []lane{{test("quick", usual, all.of(not(slow)), "-short")}}, nil
	case "race":
		return []lane{{raceTests(all)}}, nil
	case "test":
		return everything(all), nil
	case "long":
		return []lane{{
			test("long", append(usual, "SPOOL_TEST_LONG=1"), all.of(long), "-p=1", "-parallel=4", "-count=1", "-timeout=3h"),
			test("long", append(usual, "SPOOL_TEST_LONG=1", "SPOOL_TEST_BACKEND=fleet"), all.of(program), "-count=1", "-timeout=1h"),
			minio(all), packagingTests, collectorTests,
		}}, nil
	}
	return nil, fmt.Errorf("there is no target %q", target)
}

// patient is more than the slowest package takes beside all others.
const patient = "-timeout=20m"

// The build of the race detector looks names up as the program does, which has no C in it.
// Libraries are compiled without inlining: large ones take little more than half the time. What
// is called all the time, as the runtime is, keeps it. The build leaves SQLite to itself: that is C
// which was translated to Go, with locks of its own. Watched, it takes minutes to compile and runs
// ten times slower. So it does with regular expressions, in which the command line spends most of
// its time. The last pattern that matches a package counts.
func watched() []string {
	flags := []string{"-tags=netgo,osusergo"}
	for _, libraries := range []string{"github.com/...", "golang.org/...", "google.golang.org/...", "go.opentelemetry.io/...",
		"crypto/...", "go/...", "html/...", "math/big", "net/...", "text/...", "vendor/..."} {
		flags = append(flags, "-gcflags="+libraries+"=-dwarf=false -l")
	}
	return append(flags,
		"-gcflags="+module+"...=-dwarf=false",
		"-gcflags=modernc.org/...=-dwarf=false -race=false",
		"-gcflags=regexp/...=-dwarf=false -race=false")
}

func raceTests(all selection) job {
	return test("race", racing, all.of(not(withoutRace)), append(watched(), "-race", patient)...)
}

// everything is for two cores, in two lanes. At first one of them compiles for the
// race detector and the other one, with go vet, for all the rest. More lanes would
// not be faster, and tests that wait for something would wait too long. Only staticcheck
// has a third one, as soon as what it reads is compiled: it gets the time in which the
// others wait. The faults of a fleet are mostly waited for, so they do not come last.
func everything(all selection) []lane {
	plain := test("plain", usual, all.of(both(withoutRace, not(either(attacks, either(program, fleet))))), "-p=1", patient)
	plain.then = lane{staticcheck.aside()}
	return []lane{
		{
			raceTests(all),
			test("fleet", usual, all.of(fleet), "-count=1", "-short", "-parallel=4", patient),
			test("fleet", append(usual, "SPOOL_TEST_BACKEND=fleet"), all.of(program), "-count=1", patient),
		},
		{
			gofmt, vet, plain,
			test("plain", usual, all.of(program), "-count=1", patient),
		},
	}
}

// test is a run of go test over packages. Its programs are linked without what only
// debuggers need.
func test(name string, env, packages []string, flags ...string) job {
	what := fmt.Sprintf("%d packages", len(packages))
	if len(packages) == 1 {
		what = short(packages[0])
	}
	return job{name: name, what: what, env: env, flags: flags, packages: packages}
}

// selection is a list of packages.
type selection []string

// of returns those that are wanted.
func (s selection) of(wanted func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone([]string(s)), not(wanted))
}

func not(f func(string) bool) func(string) bool {
	return func(pkg string) bool { return !f(pkg) }
}

func either(f, g func(string) bool) func(string) bool {
	return func(pkg string) bool { return f(pkg) || g(pkg) }
}

func both(f, g func(string) bool) func(string) bool {
	return func(pkg string) bool { return f(pkg) && g(pkg) }
}
