// Package queuetest holds every implementation of queue.Queue to the contract.
// An implementation joins with one test that calls Run.
package queuetest

import (
	"context"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
)

// Harness is a queue on a database of its own, not started yet.
type Harness struct {
	Queue queue.Queue

	// InTx runs f in a transaction of the queue's database, commits when f
	// returns nil, and rolls back and returns f's error otherwise.
	InTx func(ctx context.Context, f func(queue.Tx) error) error

	// Restart returns a harness with a new queue on the same database, as a new
	// process would have it. If the old queue was not stopped before, that is a
	// crash: Restart must cut it off from the database, so that what its
	// handlers do from now on has no effect. Restart may be called on the
	// harness it returned, too.
	Restart func(t testing.TB) Harness
}

type testCase struct {
	name string
	test func(*lab)
}

// Run checks the queues that open returns: a fresh one, on an empty database,
// for each call.
func Run(t *testing.T, open func(t testing.TB) Harness) {
	for subject, cases := range map[string][]testCase{
		"Enqueue": enqueueCases(),
		"Fair":    fairCases(),
		"Work":    workCases(),
		"Cancel":  cancelCases(),
		"Again":   againCases(),
		"Quiet":   idleCases(),
		"Stop":    stopCases(),
		"Crash":   crashCases(),
		"Stats":   statsCases(),
		"Lanes":   laneCases(),
	} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.test(newLab(t, open(t)))
				})
			}
		})
	}
	t.Run("Random", func(t *testing.T) {
		t.Parallel()
		testRandom(t, open)
	})
}
