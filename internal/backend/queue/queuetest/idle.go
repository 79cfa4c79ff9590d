package queuetest

import (
	"context"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

func idleCases() []testCase {
	return []testCase{
		{"it returns at once when nothing of the video runs", testIdleIdle},
		{"it waits until the handler has returned", testIdleWaits},
		{"it waits for a cancelled task, too", testIdleCancelled},
		{"it does not wait for the kinds to keep", testIdleKeep},
		{"no task begins after a cancel and a wait", testIdleRace},
	}
}

func testIdleIdle(l *lab) {
	l.waitIdle(someVideo) // before the start
	l.start(1)
	l.enqueue(marker(1), task(queue.Encode, 0))
	l.next(marker(1)) // of another video; its own is waiting only
	l.waitIdle(someVideo)
}

// busy checks that WaitIdle waits.
func (l *lab) busy(id video.ID, keep ...queue.Kind) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Queue.WaitIdle(ctx, id, keep...); !errors.Is(err, context.DeadlineExceeded) {
		l.Fatalf("WaitIdle returned %v while a task was running, want it to wait until its context ends", err)
	}
}

func testIdleWaits(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1))
	acts := l.together(task(queue.Encode, 0), task(queue.Encode, 1))
	a, b := acts[0], acts[1]
	l.busy(someVideo)
	a.end <- nil
	l.busy(someVideo)
	b.end <- nil
	l.waitIdle(someVideo)
	if !a.hasReturned() || !b.hasReturned() {
		l.Error("WaitIdle returned before the handlers had")
	}
	l.counts(0, 0)
}

func testIdleCancelled(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	a := l.next(task(queue.Encode, 0))
	l.cancel(someVideo)
	l.busy(someVideo)
	a.end <- nil
	l.waitIdle(someVideo)
	if !a.hasReturned() {
		l.Error("WaitIdle returned before the handler had")
	}
}

func testIdleKeep(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Purge, 0), task(queue.Encode, 0))
	e := l.together(task(queue.Purge, 0), task(queue.Encode, 0))[1]
	l.busy(someVideo, queue.Purge)
	e.end <- nil
	l.waitIdle(someVideo, queue.Purge)
}

// testIdleRace looks for a task that was claimed just before the cancel
// committed, and whose handler is called after WaitIdle has found nothing running.
func testIdleRace(l *lab) {
	l.startWith(4, func(ctx context.Context, t queue.Task) error {
		if ctx.Err() == nil {
			l.begun <- &act{Task: t, ctx: ctx, began: time.Now()}
		}
		return nil
	})
	for i := range 100 {
		l.enqueue(task(queue.Encode, i), task(queue.Audio, i))
		l.cancel(someVideo)
		l.waitIdle(someVideo)
		quiet := time.Now()
		for len(l.begun) > 0 {
			if a := <-l.begun; a.began.After(quiet) {
				l.Fatalf("task %s began %v after quiet", a, a.began.Sub(quiet))
			}
		}
	}
	// Late tasks of the last iteration, if any, come before this one ends.
	l.enqueue(marker(1))
	for a := range l.begun {
		if a.String() == marker(1).String() {
			break
		}
		l.Errorf("task %s began after quiet", a)
	}
}
