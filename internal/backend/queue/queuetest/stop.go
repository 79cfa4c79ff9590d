package queuetest

import (
	"context"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

func stopCases() []testCase {
	return []testCase{
		{"it may be called before the start", testStopBeforeStart},
		{"it may be called twice", testStopTwice},
		{"a running task is requeued and runs first after the restart", testStopRequeues},
		{"a handler's success after it was told to stop does not count", func(l *lab) { testStopResult(l, nil) }},
		{"a handler's error after it was told to stop does not count", func(l *lab) { testStopResult(l, errTask) }},
		{"an attempt before the stop still counts", testStopAfterFailure},
		{"waiting tasks are not begun any more", testStopTakesNothing},
		{"it waits no longer than its context", testStopImpatient},
		{"a task cancelled while it stops is gone after the restart", testStopThenCancel},
	}
}

func testStopBeforeStart(l *lab) {
	l.enqueue(marker(1))
	l.succeeds(l.stop())
	l.counts(1, 0)
	l.restart()
	l.start(1)
	l.next(marker(1))
}

func testStopTwice(l *lab) {
	l.start(2)
	l.enqueue(marker(1))
	a := l.next(marker(1))
	first := l.stop()
	l.stopped(a, queue.ErrStopping)
	second := l.stop()
	a.end <- nil
	l.succeeds(first)
	l.succeeds(second)
	l.succeeds(l.stop())
}

func testStopRequeues(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1))
	a := l.next(task(queue.Encode, 0))
	result := l.stop()
	l.stopped(a, queue.ErrStopping)
	a.end <- context.Cause(a.ctx)
	l.succeeds(result)
	if !a.hasReturned() {
		l.Error("stop returned before the handler had")
	}
	l.counts(2, 0)
	l.restart()
	l.start(1)
	l.nextAttempt(task(queue.Encode, 0), 1).end <- nil
	l.nextAttempt(task(queue.Encode, 1), 1).end <- nil
	l.counts(0, 0)
}

func testStopResult(l *lab, ends error) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	a := l.next(task(queue.Encode, 0))
	result := l.stop()
	l.stopped(a, queue.ErrStopping)
	a.end <- ends
	l.succeeds(result)
	l.restart()
	l.start(1)
	l.nextAttempt(task(queue.Encode, 0), 1)
}

func testStopAfterFailure(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	l.nextAttempt(task(queue.Encode, 0), 1).end <- errTask
	a := l.nextAttempt(task(queue.Encode, 0), 2)
	result := l.stop()
	l.stopped(a, queue.ErrStopping)
	a.end <- errTask
	l.succeeds(result)
	l.restart()
	l.start(1)
	l.nextAttempt(task(queue.Encode, 0), 2)
}

func testStopTakesNothing(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1))
	a := l.next(task(queue.Encode, 0))
	result := l.stop()
	l.stopped(a, queue.ErrStopping)
	l.enqueue(task(queue.Encode, 2)) // while it stops
	a.end <- nil
	l.succeeds(result)
	l.enqueue(task(queue.Encode, 3)) // after it has stopped
	l.counts(4, 0)
	if len(l.begun) > 0 {
		l.Errorf("task %s began after the stop", <-l.begun)
	}
}

func testStopImpatient(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	a := l.next(task(queue.Encode, 0))
	ctx, cancel := context.WithTimeout(l.Context(), 30*time.Millisecond)
	defer cancel()
	if err := l.Queue.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		l.Errorf("stop returned %v, want the error of its context", err)
	}
	a.end <- nil
	l.succeeds(l.stop())
	l.counts(1, 0)
}

func testStopThenCancel(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	a := l.next(task(queue.Encode, 0))
	result := l.stop()
	l.stopped(a, queue.ErrStopping)
	l.cancel(someVideo)
	a.end <- nil
	l.succeeds(result)
	l.counts(0, 0)
}

func crashCases() []testCase {
	return []testCase{
		{"a task that was running runs again and the crash is no attempt", testCrash},
		{"the attempts before the crash still count", testCrashAfterFailure},
		{"a cancelled task does not come back", testCrashCancelled},
		{"a task keeps its trace through a failure and a crash", testTrace},
	}
}

func testCrash(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1), task(queue.Encode, 2))
	dead := l.together(task(queue.Encode, 0), task(queue.Encode, 1))[0]
	l.restart()
	dead.end <- nil // what a dead process does has no effect
	l.start(1)
	for i := range 3 {
		l.nextAttempt(task(queue.Encode, i), 1).end <- nil
	}
	l.counts(0, 0)
}

func testCrashAfterFailure(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	l.nextAttempt(task(queue.Encode, 0), 1).end <- errTask
	l.nextAttempt(task(queue.Encode, 0), 2)
	l.restart()
	l.start(1)
	l.finish(l.nextAttempt(task(queue.Encode, 0), 2), nil)
	l.counts(0, 0)
}

func testCrashCancelled(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1))
	l.next(task(queue.Encode, 0))
	l.cancel(someVideo)
	l.restart()
	l.start(1)
	l.enqueue(marker(1))
	l.finish(l.next(marker(1)), nil)
	l.counts(0, 0)
}

func testTrace(l *lab) {
	traced := task(queue.Encode, 0)
	traced.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	l.start(1)
	l.enqueue(traced)
	first := l.nextAttempt(traced, 1)
	first.end <- errTask
	second := l.nextAttempt(traced, 2)
	l.restart()
	l.start(1)
	third := l.nextAttempt(traced, 2)
	for _, a := range []*act{first, second, third} {
		if a.Trace != traced.Trace {
			l.Errorf("attempt %d has the trace %q, want %q", a.Attempt, a.Trace, traced.Trace)
		}
	}
}
