package queuetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// fairCases are about the order that the package comment of queue describes.
func fairCases() []testCase {
	return []testCase{
		{"a tenant with one task waits for what runs, not for another's thousand", testFairOne},
		{"tenants are served in turn", testFairTurns},
		{"a tenant runs what is most urgent, not what came first", testFairUrgent},
		{"urgent tasks of a tenant do not delay another one", testFairLater},
		{"a short video does not wait for a long one of the same tenant", testFairShort},
		{"a task that was stopped runs first after the restart", testFairStopped},
		{"a task keeps its tenant when it is retried", testFairRetry},
		{"a tenant whose tasks fail is served in turn with others", testFairFailures},
		{"a tenant that runs nothing goes before one that runs a task", testFairRunning},
		{"workers that become free at once are shared evenly", testFairAtOnce},
		{"a tenant alone gets every worker", testFairAlone},
		{"tasks of spare time run after everybody's others", testSpare},
		{"tasks of spare time do not take the place of a tenant that runs more", testSparePlace},
		{"a task of spare time gives its worker up when another tenant waits", testSpareYields},
		{"tasks of spare time give up all workers, again and again", testSpareYieldsAll},
		{"a task of spare time runs again after an error", testSpareRetry},
		{"two transactions enqueue the same names in opposite order", testOpposite},
	}
}

// of returns a task of a tenant, whose video has the tenant's name.
func of(tenant video.Tenant, number, priority int) queue.Task {
	return queue.Task{Kind: queue.Encode, Video: video.ID("video of " + tenant), Number: number, Tenant: tenant, Priority: priority}
}

// batchOf returns n tasks of a tenant with one priority.
func batchOf(tenant video.Tenant, n, priority int) []queue.Task {
	var tasks []queue.Task
	for i := range n {
		tasks = append(tasks, of(tenant, i, priority))
	}
	return tasks
}

// runs lets tasks begin and end one after the other, and checks the order.
func (l *lab) runs(tasks ...queue.Task) {
	l.Helper()
	for _, t := range tasks {
		l.next(t).end <- nil
	}
}

func testFairOne(l *lab) {
	l.start(1)
	many := batchOf("a", 1000, 0)
	l.enqueue(many...)
	first := l.next(many[0])
	l.enqueue(of("b", 0, 50)) // how urgent it is to b is no matter to a
	first.end <- nil
	l.runs(of("b", 0, 50), many[1], many[2])
}

// testFairTurns has tenants of whom one waits for less than the others.
func testFairTurns(l *lab) {
	l.enqueue(batchOf("a", 5, 0)...)
	l.enqueue(batchOf("b", 3, 7)...)
	l.enqueue(batchOf("c", 1, -7)...)
	l.start(1)
	l.runs(
		of("c", 0, -7), of("a", 0, 0), of("b", 0, 7),
		of("a", 1, 0), of("b", 1, 7),
		of("a", 2, 0), of("b", 2, 7),
		of("a", 3, 0), of("a", 4, 0),
	)
	l.counts(0, 0)
}

func testFairUrgent(l *lab) {
	l.enqueue(of("a", 0, 9), of("a", 1, 9))
	l.enqueue(of("b", 0, 9), of("b", 1, 9))
	l.enqueue(of("a", 2, 1), of("a", 3, 9))
	l.enqueue(of("b", 2, 3))
	l.start(1)
	l.runs(
		of("a", 2, 1), of("b", 2, 3),
		of("a", 0, 9), of("b", 0, 9),
		of("a", 1, 9), of("b", 1, 9),
		of("a", 3, 9),
	)
}

// testFairLater has a tenant bring ever new urgent tasks: they go before its own others, and the other
// tenant is served in turn.
func testFairLater(l *lab) {
	l.enqueue(batchOf("a", 3, 9)...)
	l.enqueue(batchOf("b", 3, 9)...)
	l.start(1)
	for i := range 3 {
		run := l.next([]queue.Task{of("a", 0, 9), of("a", 10, 0), of("a", 11, 0)}[i])
		l.enqueue(of("a", 10+i, 0))
		run.end <- nil
		l.runs(of("b", i, 9))
	}
	l.runs(of("a", 12, 0), of("a", 1, 9), of("a", 2, 9))
}

func testFairShort(l *lab) {
	l.start(1)
	var someVideo []queue.Task
	for i := range 100 {
		someVideo = append(someVideo, of("a", i, 10+i))
	}
	l.enqueue(someVideo...)
	first := l.next(someVideo[0])
	clip := queue.Task{Kind: queue.Encode, Video: other, Tenant: "a", Priority: 10}
	l.enqueue(clip)
	first.end <- nil
	l.runs(clip, someVideo[1], someVideo[2])
}

func testFairStopped(l *lab) {
	l.enqueue(batchOf("a", 3, 0)...)
	l.enqueue(batchOf("b", 3, 0)...)
	l.start(1)
	l.runs(of("a", 0, 0))
	run := l.next(of("b", 0, 0))
	result := l.stop()
	l.stopped(run, queue.ErrStopping)
	run.end <- nil
	l.succeeds(result)
	l.restart()
	l.start(1)
	l.next(of("b", 0, 0)).end <- nil
	left := []queue.Task{of("a", 1, 0), of("a", 2, 0), of("b", 1, 0), of("b", 2, 0)}
	for range 2 { // the tenants take turns; either may be first
		a := l.one(left...)
		a.end <- nil
		other := left[2:]
		if a.Tenant == "b" {
			other = left[:2]
		}
		l.one(other...).end <- nil
	}
	l.counts(0, 0)
}

// testFairFailures has a hundred tasks of one tenant become due at once, after they failed.
func testFairFailures(l *lab) {
	l.startWith(1, func(ctx context.Context, t queue.Task) error {
		if t.Tenant == "a" && t.Attempt == 1 {
			return queue.RetryAfter(2*time.Second, errTask)
		}
		return l.handle(ctx, t)
	})
	l.enqueue(batchOf("a", 100, 0)...)
	first := l.one(batchOf("a", 100, 0)...)
	time.Sleep(3 * time.Second) // the others are due now, too
	l.enqueue(of("b", 0, 50))
	first.end <- nil
	l.next(of("b", 0, 50)).end <- nil
	l.one(batchOf("a", 100, 0)...).end <- nil
}

func testFairRetry(l *lab) {
	l.start(1)
	l.enqueue(of("a", 0, 3))
	l.next(of("a", 0, 3)).end <- errTask
	again := l.nextAttempt(of("a", 0, 3), 2)
	if again.Tenant != "a" || again.Priority != 3 {
		l.Errorf("the task came back as one of tenant %q with priority %d", again.Tenant, again.Priority)
	}
	l.finish(again, nil)
}

// testFairRunning has one tenant with tasks that take long, and one whose tasks are short.
func testFairRunning(l *lab) {
	l.enqueue(batchOf("a", 5, 0)...)
	l.start(2)
	long := l.together(of("a", 0, 0), of("a", 1, 0))
	l.enqueue(batchOf("b", 3, 0)...)
	long[0].end <- nil
	l.runs(of("b", 0, 0), of("b", 1, 0))
	last := l.next(of("b", 2, 0))
	l.enqueue(of("c", 0, 0))
	last.end <- nil
	l.next(of("c", 0, 0)).end <- nil
	l.next(of("a", 2, 0)) // no other tenant waits, so this one runs a second task
	long[1].end <- nil
	l.next(of("a", 3, 0))
}

// testFairAtOnce frees three of four workers at the same time, when the next places all belong to one tenant.
func testFairAtOnce(l *lab) {
	l.enqueue(batchOf("a", 7, 0)...)
	l.start(4)
	a := l.together(batchOf("a", 4, 0)...)
	l.enqueue(batchOf("b", 10, 0)...)
	a[1].end <- nil
	b := []*act{l.next(of("b", 0, 0))}
	a[2].end <- nil
	b = append(b, l.next(of("b", 1, 0)))
	a[3].end <- nil
	second := l.next(of("a", 4, 0))
	for i := range 4 { // short tasks, each of which uses a place
		b[i].end <- nil
		b = append(b, l.next(of("b", 2+i, 0)))
	}
	for _, act := range []*act{second, b[4], b[5]} {
		act.end <- nil
	}
	begun := map[video.Tenant]int{}
	for range 3 {
		select {
		case act := <-l.begun:
			begun[act.Tenant]++
		case <-time.After(testTimeout):
			l.Fatal("the free workers do nothing")
		}
	}
	if begun["a"] != 1 || begun["b"] != 2 {
		l.Errorf("begun are %v; want both tenants to run two tasks", begun)
	}
	l.counts(3, 4)
}

func testFairAlone(l *lab) {
	l.enqueue(batchOf("a", 4, 0)...)
	l.start(3)
	l.together(batchOf("a", 3, 0)...)
	l.counts(1, 3)
}

// testOpposite has transactions meet that want the same names in different
// orders, with and without a cancellation. None fails, and each name is there
// once.
func testOpposite(l *lab) {
	const n = 20
	tasks := batchOf("a", n, 0)
	backwards := slices.Clone(tasks)
	slices.Reverse(backwards)
	var meeting sync.WaitGroup
	failed := make(chan error, 8)
	for i := range cap(failed) {
		meeting.Go(func() {
			failed <- l.InTx(l.Context(), func(tx queue.Tx) error {
				if i%4 == 3 {
					if err := l.Queue.Cancel(l.Context(), tx, tasks[0].Video); err != nil {
						return fmt.Errorf("cancel: %w", err)
					}
				}
				if i%2 == 0 {
					return l.Queue.Enqueue(l.Context(), tx, tasks...)
				}
				return l.Queue.Enqueue(l.Context(), tx, backwards...)
			})
		})
	}
	meeting.Wait()
	for range cap(failed) {
		if err := <-failed; err != nil {
			l.Error(err)
		}
	}
	l.counts(n, 0)
}

// spareOf returns a task of a tenant that runs in spare time.
func spareOf(tenant video.Tenant, number int) queue.Task {
	return of(tenant, 1000+number, queue.Spare)
}

// testSpare checks that spare tasks wait for all other tasks, also for those that were enqueued later.
func testSpare(l *lab) {
	l.enqueue(spareOf("a", 0), spareOf("a", 1), spareOf("b", 0))
	l.enqueue(batchOf("a", 2, 99)...)
	l.enqueue(batchOf("c", 3, 0)...)
	l.start(1)
	l.runs(of("c", 0, 0), of("a", 0, 99), of("c", 1, 0), of("a", 1, 99), of("c", 2, 0))
	l.runs(spareOf("b", 0), spareOf("a", 0), spareOf("a", 1))
	l.counts(0, 0)
}

// testSparePlace has a tenant run more tasks than another one, whose task runs in spare time.
func testSparePlace(l *lab) {
	l.enqueue(batchOf("a", 4, 0)...)
	l.enqueue(spareOf("b", 0))
	l.start(2)
	both := l.together(of("a", 0, 0), of("a", 1, 0))
	both[0].end <- nil
	l.next(of("a", 2, 0)).end <- nil
	l.next(of("a", 3, 0)).end <- nil
	l.next(spareOf("b", 0)).end <- nil
	both[1].end <- nil
}

func testSpareYields(l *lab) {
	l.start(2)
	l.enqueue(spareOf("a", 0))
	only := l.next(spareOf("a", 0))
	l.enqueue(of("b", 0, 0))
	another := l.next(of("b", 0, 0))
	l.enqueue(of("c", 0, 0))
	l.ended(only)
	l.goesOn(another)
	only.end <- nil
	l.next(of("c", 0, 0)).end <- nil
	l.nextAttempt(spareOf("a", 0), 1).end <- nil
	another.end <- nil
	l.counts(0, 0)
}

// testSpareYieldsAll fills all slots with spare tasks before other tasks of the same tenant come.
func testSpareYieldsAll(l *lab) {
	l.start(2)
	spare, urgent := []queue.Task{spareOf("a", 0), spareOf("a", 1)}, batchOf("a", 4, 0)
	l.enqueue(spare...)
	for i := range 2 {
		running := l.together(spare...)
		l.enqueue(urgent[2*i], urgent[2*i+1])
		for _, a := range running {
			if a.Attempt != 1 {
				l.Errorf("task %s began with attempt %d, want 1", a, a.Attempt)
			}
			l.ended(a)
			a.end <- nil
		}
		for _, a := range l.together(urgent[2*i], urgent[2*i+1]) {
			l.goesOn(a)
			a.end <- nil
		}
	}
	for _, a := range l.together(spare...) {
		a.end <- nil
	}
	l.counts(0, 0)
}

func testSpareRetry(l *lab) {
	l.start(1)
	l.enqueue(spareOf("a", 0))
	l.next(spareOf("a", 0)).end <- errTask
	l.nextAttempt(spareOf("a", 0), 2).end <- nil
	l.counts(0, 0)
}
