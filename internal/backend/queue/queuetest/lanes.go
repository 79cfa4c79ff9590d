package queuetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

func laneCases() []testCase {
	return []testCase{
		{"a task begins only where its lane is worked", testLaneOfOthers},
		{"a lane has places of its own", testLanePlaces},
		{"names without a video differ by their id, and no video's end ends them", testLaneNames},
		{"a dead endpoint leaves places to others", testDeadEndpoint},
		{"one tenant has at most half of the imports", testImportLimit},
		{"a tenant gets a place from those that have several imports", testImportYields},
		{"only those that encode are listed as workers, with what they encode", testLaneWorkers},
		{"a task that was completed in a transaction does not run again", testComplete},
		{"a task whose completion was rolled back runs again", testCompleteRolledBack},
		{"a task that was cancelled cannot be completed", testCompleteCancelled},
		{"a task that is completed while the queue stops is done", testCompleteStopping},
	}
}

// delivery returns a task of the network lane.
func delivery(endpoint string, number int) queue.Task {
	return queue.Task{Kind: queue.Deliver, ID: fmt.Sprintf("%s-%d", endpoint, number), Tenant: "a", Endpoint: endpoint}
}

// startLanes starts the queue with directed tasks on several lanes.
func (l *lab) startLanes(places map[queue.Lane]int) {
	l.Helper()
	lanes := map[queue.Lane]queue.Pool{}
	for lane, n := range places {
		lanes[lane] = queue.Pool{Places: n, Handle: l.handle}
	}
	if err := l.Queue.Start(l.Context(), lanes); err != nil {
		l.Fatalf("start: %v", err)
	}
}

func testLaneOfOthers(l *lab) {
	l.start(4)
	l.enqueue(delivery("x", 0), task(queue.Encode, 0))
	l.finish(l.next(task(queue.Encode, 0)), nil)
	l.counts(1, 0)
	if len(l.begun) > 0 {
		l.Errorf("task %s began on a lane that is not worked", <-l.begun)
	}
}

func testLanePlaces(l *lab) {
	l.startLanes(map[queue.Lane]int{queue.EncodeLane: 1, queue.NetworkLane: 1})
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1), delivery("x", 0), delivery("x", 1))
	acts := l.together(task(queue.Encode, 0), delivery("x", 0))
	l.counts(2, 2)
	acts[1].end <- nil
	l.next(delivery("x", 1)).end <- nil
	acts[0].end <- nil
	l.next(task(queue.Encode, 1)).end <- nil
	l.counts(0, 0)
}

func testLaneNames(l *lab) {
	l.startLanes(map[queue.Lane]int{queue.NetworkLane: 8})
	l.enqueue(delivery("x", 0), delivery("x", 0), delivery("y", 1))
	acts := l.together(delivery("x", 0), delivery("y", 1))
	l.cancel(someVideo)
	l.counts(0, 2)
	for _, a := range acts {
		l.goesOn(a)
		if a.Endpoint == "" || a.Tenant != "a" {
			l.Errorf("task %s came with endpoint %q of tenant %q", a, a.Endpoint, a.Tenant)
		}
		a.end <- nil
	}
	l.counts(0, 0)
}

// testDeadEndpoint has an endpoint that never answers, with many more tasks than there are places.
func testDeadEndpoint(l *lab) {
	const places = 40
	l.startLanes(map[queue.Lane]int{queue.NetworkLane: places})
	for i := range 2 * places {
		l.enqueue(delivery("dead", i))
	}
	var dead []*act
	dead = append(dead, l.begins("dead"))
	time.Sleep(500 * time.Millisecond) // what may begin has begun
	for len(l.begun) > 0 {
		dead = append(dead, l.begins("dead"))
	}
	if len(dead) > places/4 {
		l.Errorf("%d of %d places are taken by one endpoint", len(dead), places)
	}
	for i := range 20 {
		l.enqueue(delivery("alive", i))
		l.next(delivery("alive", i)).end <- nil
	}
	for _, a := range dead {
		l.goesOn(a)
	}
}

// begins returns the next task that begins, which must be one to an endpoint.
func (l *lab) begins(endpoint string) *act {
	l.Helper()
	select {
	case a := <-l.begun:
		if a.Endpoint != endpoint {
			l.Fatalf("task %s began, want one to %s", a, endpoint)
		}
		return a
	case <-time.After(testTimeout):
		l.Fatalf("no task to %s began", endpoint)
		return nil
	}
}

// imports returns n tasks of the import lane.
func imports(tenant video.Tenant, n int) (tasks []queue.Task) {
	for i := range n {
		tasks = append(tasks, queue.Task{Kind: queue.Import, Video: video.ID(fmt.Sprintf("%s-%d", tenant, i)), Tenant: tenant})
	}
	return tasks
}

func testImportLimit(l *lab) {
	l.startLanes(map[queue.Lane]int{queue.ImportLane: 4})
	a, b := imports("a", 4), imports("b", 1)
	l.enqueue(a...)
	l.together(a[:2]...)
	l.counts(2, 2)
	l.enqueue(b...)
	l.next(b[0])
	l.counts(2, 3)
}

// testImportYields has two tenants take all places for as long as they like. Others get one each, the next
// tenant's task before the one that was interrupted, until no tenant has two.
func testImportYields(l *lab) {
	l.startLanes(map[queue.Lane]int{queue.ImportLane: 4})
	a, b, c, d, e := imports("a", 3), imports("b", 2), imports("c", 1), imports("d", 1), imports("e", 1)
	l.enqueue(a...)
	ofA := l.together(a[:2]...)
	l.enqueue(b...)
	ofB := l.together(b...)

	l.enqueue(c...)
	l.endsOne(ofB, queue.ErrStopping).end <- nil
	last := l.next(c[0])
	l.enqueue(d...)
	l.endsOne(ofA, queue.ErrStopping).end <- nil
	l.next(d[0])
	l.enqueue(e...)
	time.Sleep(3 * queue.YieldsAfter) // nothing else is interrupted
	l.counts(4, 4)

	last.end <- nil
	l.next(e[0]).end <- nil
	if again := l.one(append(a, b...)...); again.Attempt != 1 {
		l.Errorf("task %s was interrupted, and began again with attempt %d", again, again.Attempt)
	}
}

// endsOne waits until the context of one of two attempts has ended with this cause, and returns it.
func (l *lab) endsOne(acts []*act, want error) *act {
	l.Helper()
	ended := acts[0]
	select {
	case <-acts[0].ctx.Done():
	case <-acts[1].ctx.Done():
		ended = acts[1]
	case <-time.After(testTimeout):
		l.Fatalf("neither %s nor %s was stopped", acts[0], acts[1])
	}
	l.stopped(ended, want)
	return ended
}

func testLaneWorkers(l *lab) {
	l.startLanes(map[queue.Lane]int{queue.NetworkLane: 1})
	l.enqueue(delivery("x", 0))
	l.next(delivery("x", 0))
	if all, err := l.Queue.Workers(l.Context()); err != nil || len(all) != 0 {
		l.Errorf("a process that only delivers is listed: %+v, %v", all, err)
	}
}

// completing starts the queue with a handler that completes its task in a transaction, and then does more.
func (l *lab) completing(then func(ctx context.Context, t queue.Task, err error) error) {
	l.Helper()
	l.startWith(1, func(ctx context.Context, t queue.Task) error {
		if err := l.handle(ctx, t); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx) // it records what it did although it was told to stop
		err := l.InTx(ctx, func(tx queue.Tx) error { return l.Queue.Complete(ctx, tx) })
		return then(ctx, t, err)
	})
}

func testComplete(l *lab) {
	l.completing(func(_ context.Context, _ queue.Task, err error) error {
		if err != nil {
			l.Errorf("complete: %v", err)
		}
		return errTask // too late to matter
	})
	l.enqueue(task(queue.Encode, 0))
	l.finish(l.next(task(queue.Encode, 0)), nil)
	l.counts(0, 0)
	l.enqueue(task(queue.Encode, 0))
	l.finish(l.nextAttempt(task(queue.Encode, 0), 1), nil)
	l.counts(0, 0)
}

func testCompleteRolledBack(l *lab) {
	l.startWith(1, func(ctx context.Context, t queue.Task) error {
		if err := l.handle(ctx, t); err != nil || t.Attempt > 1 {
			return err
		}
		return l.InTx(ctx, func(tx queue.Tx) error {
			return errors.Join(l.Queue.Complete(ctx, tx), errRollback)
		})
	})
	l.enqueue(task(queue.Encode, 0))
	l.next(task(queue.Encode, 0)).end <- nil
	l.nextAttempt(task(queue.Encode, 0), 2).end <- nil
	l.counts(0, 0)
}

func testCompleteCancelled(l *lab) {
	result := make(chan error, 1)
	l.completing(func(_ context.Context, _ queue.Task, err error) error {
		result <- err
		return err
	})
	l.enqueue(task(queue.Encode, 0))
	a := l.next(task(queue.Encode, 0))
	l.cancel(someVideo)
	l.stopped(a, queue.ErrCancelled)
	a.end <- nil
	if err := <-result; !errors.Is(err, queue.ErrCancelled) {
		l.Errorf("the completion of a cancelled task ended with %v, want %v", err, queue.ErrCancelled)
	}
	l.counts(0, 0)
}

func testCompleteStopping(l *lab) {
	l.completing(func(_ context.Context, _ queue.Task, err error) error { return err })
	l.enqueue(task(queue.Encode, 0))
	a := l.next(task(queue.Encode, 0))
	result := l.stop()
	l.stopped(a, queue.ErrStopping)
	a.end <- nil
	l.succeeds(result)
	l.counts(0, 0)
}
