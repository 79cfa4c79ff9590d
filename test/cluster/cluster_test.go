// Package cluster tests Spool as a fleet: the built program as several API and
// worker processes on one PostgreSQL and one S3 server, while the tests kill,
// stop, freeze and cut off whichever part they like. However bad the weather,
// every video that was accepted must come out whole, no answer may lie about it,
// and nothing may be left behind.
//
// Usually, as every change is tested, a few faults stand for all: a killed
// worker, a frozen one, a rolling restart, a database that comes and goes, one
// whose clock is wrong, a storage with errors, and tasks that are delivered twice.
// SPOOL_TEST_LONG=1 runs all of them (make test-long SUITE=cluster).
//
// SPOOL_TEST_ROUNDS and SPOOL_TEST_VIDEOS make TestChaos longer, SPOOL_TEST_SEED
// repeats its choices.
package cluster

import (
	"os"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

const (
	// waitLimit is how long anything may take that must happen. It is reached only
	// when a test fails: a loaded machine is slow, a stuck task is stuck forever.
	waitLimit = 4 * time.Minute
	// busyness is what a loaded machine may add to a time that is promised.
	busyness = 4 * time.Second
	// pause is how long the tests wait between two looks at the same thing.
	pause = 50 * time.Millisecond
)

// lab is what the tests of one run share. TestMain sets it once.
var lab struct {
	dir    string // removed at the end
	binary string
	clips  rig.ClipCache
}

func TestMain(m *testing.M) {
	os.Exit(rig.Run(m, func(dir, binary string) func() {
		lab.dir, lab.binary = dir, binary
		return nil
	}, "-tags", "crashtest")) // the program of the end-to-end tests; its heartbeats are the usual ones unless it is told otherwise
}

// byLength chooses how much a test does.
func byLength[T any](usual, longer T) T {
	if need.Long() {
		return longer
	}
	return usual
}

// oneUsually returns the first of the videos, or all when there is time.
func oneUsually(videos ...sourceVideo) []sourceVideo {
	return byLength(videos[:1], videos)
}

// until waits for a condition that nothing signals.
func until(t testing.TB, what string, limit time.Duration, reached func() bool) {
	t.Helper()
	began, wait := time.Now(), pause/2
	for !reached() {
		if time.Since(began) > limit {
			t.Fatalf("waited %s in vain for %s", limit, what)
		}
		time.Sleep(wait)
		wait = min(wait*5/4, 4*pause)
	}
}
