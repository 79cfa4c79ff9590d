package queuetest

import (
	"context"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

func cancelCases() []testCase {
	return []testCase{
		{"waiting tasks are dropped", testCancelWaiting},
		{"a running task is stopped and does not run again", testCancelRunning},
		{"a task that fails because it was cancelled is not retried", testCancelFailing},
		{"a task that waits for its retry is dropped", testCancelRetry},
		{"tasks of the kinds to keep are kept", testCancelKeep},
		{"nothing is stopped or dropped when the transaction is rolled back", testCancelRolledBack},
		{"a video without tasks is no error", func(l *lab) { l.cancel(someVideo) }},
		{"a handler may cancel its own video", testCancelSelf},
	}
}

func testCancelWaiting(l *lab) {
	l.start(1)
	l.enqueue(marker(1), task(queue.Encode, 0), task(queue.Encode, 1), task(queue.Audio, 0), marker(2))
	first := l.next(marker(1))
	l.cancel(someVideo)
	l.counts(1, 1)
	first.end <- nil
	l.finish(l.next(marker(2)), nil)
	l.counts(0, 0)
}

func testCancelRunning(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Encode, 0), marker(1))
	acts := l.together(task(queue.Encode, 0), marker(1))
	a, m := acts[0], acts[1]
	l.cancel(someVideo)
	l.stopped(a, queue.ErrCancelled)
	l.goesOn(m)
	l.finish(a, nil)
	l.finish(m, nil)
	l.counts(0, 0)
}

func testCancelFailing(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	a := l.next(task(queue.Encode, 0))
	l.cancel(someVideo)
	l.stopped(a, queue.ErrCancelled)
	l.finish(a, errTask)
	l.counts(0, 0)
}

func testCancelRetry(l *lab) {
	failed := make(chan struct{}, 1000)
	l.startWith(1, func(context.Context, queue.Task) error {
		failed <- struct{}{}
		return errTask
	})
	l.enqueue(task(queue.Encode, 0))
	<-failed
	l.cancel(someVideo)
	l.waitIdle(someVideo)
	l.counts(0, 0)
}

func testCancelKeep(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Purge, 0), task(queue.Encode, 0), task(queue.Encode, 1), task(queue.Purge, 1), task(queue.Audio, 0))
	acts := l.together(task(queue.Purge, 0), task(queue.Encode, 0))
	p, e := acts[0], acts[1]
	l.cancel(someVideo, queue.Purge, queue.Audio)
	l.stopped(e, queue.ErrCancelled)
	l.goesOn(p)
	l.finish(e, nil)
	l.next(task(queue.Purge, 1)).end <- nil
	l.finish(l.next(task(queue.Audio, 0)), nil)
	l.goesOn(p)
	l.finish(p, nil)
	l.counts(0, 0)
}

func testCancelRolledBack(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1))
	a := l.next(task(queue.Encode, 0))
	l.rollback(func(tx queue.Tx) error { return l.Queue.Cancel(l.Context(), tx, someVideo) })
	l.counts(1, 1)
	l.goesOn(a)
	a.end <- errTask // still wanted: comes back
	l.next(task(queue.Encode, 1)).end <- nil
	l.finish(l.nextAttempt(task(queue.Encode, 0), 2), nil)
	l.counts(0, 0)
}

func testCancelSelf(l *lab) {
	result := make(chan error, 1)
	l.startWith(1, func(ctx context.Context, t queue.Task) error {
		err := l.InTx(ctx, func(tx queue.Tx) error { return l.Queue.Cancel(ctx, tx, t.Video) })
		if err == nil {
			<-ctx.Done()
			err = context.Cause(ctx)
		}
		result <- err
		return err
	})
	l.enqueue(task(queue.Inspect, 0))
	select {
	case err := <-result:
		if !errors.Is(err, queue.ErrCancelled) {
			l.Errorf("the handler ended with %v, want %v", err, queue.ErrCancelled)
		}
	case <-time.After(testTimeout):
		l.Fatal("the handler was not stopped")
	}
	l.waitIdle(someVideo)
	l.counts(0, 0)
}

// againCases are about a name that is enqueued again in the transaction that
// cancels it, while its old attempt has not ended.
func againCases() []testCase {
	return []testCase{
		{"the new task survives when the old attempt succeeds", func(l *lab) { testAgain(l, nil) }},
		{"the new task survives when the old attempt fails", func(l *lab) { testAgain(l, errTask) }},
		{"the new task survives when the old attempt ends before the commit", testAgainInside},
		{"the new task survives a stop before the old attempt has ended", testAgainStop},
		{"the new task is dropped by a second cancel", testAgainCancel},
	}
}

// replace cancels the video and enqueues tasks in the same transaction.
func (l *lab) replace(tasks ...queue.Task) {
	l.Helper()
	l.tx(func(tx queue.Tx) error {
		if err := l.Queue.Cancel(l.Context(), tx, someVideo); err != nil {
			return err
		}
		return l.Queue.Enqueue(l.Context(), tx, tasks...)
	})
}

func testAgain(l *lab, ends error) {
	l.start(2)
	l.enqueue(task(queue.Encode, 0))
	old := l.next(task(queue.Encode, 0))
	l.replace(task(queue.Encode, 0), marker(1))
	l.stopped(old, queue.ErrCancelled)
	l.finish(l.next(marker(1)), nil) // the new task is before it, and must wait for the old
	old.end <- ends
	again := l.nextAttempt(task(queue.Encode, 0), 1)
	if !old.hasReturned() {
		l.Error("the new task began before the old run had ended")
	}
	l.goesOn(again)
	l.finish(again, nil)
	l.counts(0, 0)
}

// testAgainInside lets the old attempt end while the transaction is open, so that
// its end is recorded after its row has been replaced.
func testAgainInside(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	old := l.next(task(queue.Encode, 0))
	l.tx(func(tx queue.Tx) error {
		if err := l.Queue.Cancel(l.Context(), tx, someVideo); err != nil {
			return err
		}
		old.end <- nil
		<-old.returned
		return l.Queue.Enqueue(l.Context(), tx, task(queue.Encode, 0))
	})
	l.finish(l.nextAttempt(task(queue.Encode, 0), 1), nil)
	l.counts(0, 0)
}

func testAgainStop(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Encode, 0), marker(1))
	acts := l.together(task(queue.Encode, 0), marker(1))
	l.replace(task(queue.Encode, 0))
	l.stopped(acts[0], queue.ErrCancelled)
	result := l.stop()
	l.stopped(acts[1], queue.ErrStopping) // so that the new task cannot begin
	acts[0].end <- errTask
	acts[1].end <- errTask
	l.succeeds(result)
	l.counts(2, 0)
	l.restart()
	l.start(1)
	l.finish(l.nextAttempt(marker(1), 1), nil)
	l.finish(l.nextAttempt(task(queue.Encode, 0), 1), nil)
	l.counts(0, 0)
}

func testAgainCancel(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Encode, 0))
	old := l.next(task(queue.Encode, 0))
	l.replace(task(queue.Encode, 0))
	l.cancel(someVideo)
	l.stopped(old, queue.ErrCancelled)
	l.finish(old, nil)
	l.counts(0, 0)
}
