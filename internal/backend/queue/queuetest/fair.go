package queuetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// fairCases are about the order that the package comment of queue describes.
func fairCases() []testCase {
	return []testCase{
		{"a tenant with one task does not wait for another's thousand", testFairOne},
		{"tenants get fair-share slots in turn", testFairSlots},
		{"in its slot a tenant runs what is most urgent, not what came first", testFairUrgent},
		{"a tenant's slots do not grow with urgent tasks that come later", testFairLater},
		{"an idle tenant saves up no slots", testFairAway},
		{"a short video does not wait for a long one of the same tenant", testFairShort},
		{"a task that was stopped takes the next slot", testFairStopped},
		{"a task keeps its tenant when it is retried", testFairRetry},
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
	l.runs(many[1], of("b", 0, 50), many[2])
}

func testFairSlots(l *lab) {
	l.enqueue(batchOf("a", 5, 0)...)
	l.enqueue(batchOf("b", 3, 7)...)
	l.enqueue(batchOf("c", 1, -7)...)
	l.start(1)
	l.runs(
		of("a", 0, 0), of("b", 0, 7), of("c", 0, -7),
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

// testFairLater has a tenant bring ever new urgent tasks: they go before its own
// others, and not before the slots of the other tenant.
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

func testFairAway(l *lab) {
	l.start(1)
	l.enqueue(batchOf("a", 6, 0)...)
	l.runs(batchOf("a", 3, 0)...)
	fourth := l.next(of("a", 3, 0))
	l.enqueue(batchOf("b", 3, 0)...)
	fourth.end <- nil
	l.runs(of("a", 4, 0), of("b", 0, 0), of("a", 5, 0), of("b", 1, 0), of("b", 2, 0))
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
	l.runs(of("b", 0, 0), of("a", 1, 0), of("b", 1, 0), of("a", 2, 0))
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
