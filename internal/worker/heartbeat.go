package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/service/panics"
)

// A running task writes its progress after firstBeat, and then more and more
// seldom: somebody watches a short film closely, but a thousand workers that
// wrote once a second would ask more of the database with it than with all else.
const (
	firstBeat = time.Second
	slowBeat  = 5 * time.Second
)

// heartbeat writes a task's progress now and then, and ends the returned context
// when nobody waits for the task any more. stop ends it.
func (w *Worker) heartbeat(ctx context.Context, t queue.Task) (_ context.Context, report ffmpeg.Progress, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var latest atomic.Uint64 // in millionths
	done := make(chan struct{})
	go func() {
		defer close(done)
		pulse(ctx, &latest, func(part float64) {
			panics.Log(ctx, w.log, "writing the progress of a task panicked", func() { w.note(ctx, t, part, cancel) })
		})
	}()
	report = func(part float64) { latest.Store(uint64(min(max(part, 0), 1) * 1e6)) }
	return ctx, report, func() { cancel(nil); <-done }
}

// note writes progress, and cancels a task that nobody waits for.
func (w *Worker) note(ctx context.Context, t queue.Task, part float64, cancel context.CancelCauseFunc) {
	wanted, err := w.app.Progress(ctx, t, part)
	if err == nil && !wanted {
		cancel(queue.ErrCancelled)
	} else if err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "could not write progress", "task", t.String(), "err", err)
	}
}

// pulse calls note with what has become of latest, until ctx ends.
func pulse(ctx context.Context, latest *atomic.Uint64, note func(part float64)) {
	var written uint64
	for wait := firstBeat; ; wait = min(2*wait, slowBeat) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if now := latest.Load(); now != written {
			written = now
			note(float64(now) / 1e6)
		}
	}
}
