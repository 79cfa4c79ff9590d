package queuetest

import (
	"context"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

func quietCases() []testCase {
	return []testCase{
		{"it returns at once when nothing of the video runs", testQuietIdle},
		{"it waits until the handler has returned", testQuietWaits},
		{"it waits for a cancelled task, too", testQuietCancelled},
		{"it does not wait for the kinds to keep", testQuietKeep},
		{"no task begins after a cancel and a quiet", testQuietRace},
	}
}

func testQuietIdle(l *lab) {
	l.quiet(film) // before the start
	l.start(1)
	l.enqueue(marker(1), task(queue.Encode, 0))
	l.next(marker(1)) // of another video; the film's own is waiting only
	l.quiet(film)
}

// busy checks that Quiet waits.
func (l *lab) busy(id video.ID, keep ...queue.Kind) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Queue.WaitIdle(ctx, id, keep...); !errors.Is(err, context.DeadlineExceeded) {
		l.Fatalf("quiet returned %v while a task was running, want it to wait until its context ends", err)
	}
}

func testQuietWaits(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1))
	acts := l.together(task(queue.Encode, 0), task(queue.Encode, 1))
	a, b := acts[0], acts[1]
	l.busy(film)
	a.end <- nil
	l.busy(film)
	b.end <- nil
	l.quiet(film)
	if !a.hasReturned() || !b.hasReturned() {
		l.Error("quiet returned before the handlers had")
	}
	l.counts(0, 0)
}

func testQuietCancelled(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	a := l.next(task(queue.Encode, 0))
	l.cancel(film)
	l.busy(film)
	a.end <- nil
	l.quiet(film)
	if !a.hasReturned() {
		l.Error("quiet returned before the handler had")
	}
}

func testQuietKeep(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Purge, 0), task(queue.Encode, 0))
	e := l.together(task(queue.Purge, 0), task(queue.Encode, 0))[1]
	l.busy(film, queue.Purge)
	e.end <- nil
	l.quiet(film, queue.Purge)
}

// testQuietRace looks for a task that was claimed just before the cancel
// committed, and whose handler is called after Quiet has found nothing running.
func testQuietRace(l *lab) {
	l.startWith(4, func(ctx context.Context, t queue.Task) error {
		if ctx.Err() == nil {
			l.begun <- &act{Task: t, ctx: ctx, began: time.Now()}
		}
		return nil
	})
	for i := range 100 {
		l.enqueue(task(queue.Encode, i), task(queue.Audio, i))
		l.cancel(film)
		l.quiet(film)
		quiet := time.Now()
		for len(l.begun) > 0 {
			if a := <-l.begun; a.began.After(quiet) {
				l.Fatalf("task %s began %v after quiet", a, a.began.Sub(quiet))
			}
		}
	}
	// The last round's stragglers, if any, come before this one ends.
	l.enqueue(marker(1))
	for a := range l.begun {
		if a.String() == marker(1).String() {
			break
		}
		l.Errorf("task %s began after quiet", a)
	}
}
