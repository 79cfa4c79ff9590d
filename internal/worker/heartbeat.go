package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/panics"
)

// A running task writes its progress after firstBeat, and then less and less often, up to every
// slowBeat: a short video is watched closely, but a thousand workers that wrote once a second would
// load the database more with that than with everything else.
const (
	firstBeat = time.Second
	slowBeat  = 5 * time.Second
)

// heartbeat writes a task's progress regularly, and ends the returned context when the task is
// not needed any more. stop ends it.
func (w *Worker) heartbeat(ctx context.Context, t queue.Task) (_ context.Context, report ffmpeg.Progress, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var latest atomic.Uint64 // in millionths
	done := make(chan struct{})
	go func() {
		defer close(done)
		reportChanges(ctx, &latest, func(part float64) {
			panics.Log(ctx, w.log, "writing the progress of a task panicked", func() { w.writeProgress(ctx, t, part, cancel) })
		})
	}()
	report = func(part float64) { latest.Store(uint64(min(max(part, 0), 1) * 1e6)) }
	return ctx, report, func() { cancel(nil); <-done }
}

// writeProgress writes progress, and cancels a task that is not needed any more.
func (w *Worker) writeProgress(ctx context.Context, t queue.Task, part float64, cancel context.CancelCauseFunc) {
	wanted, err := w.Tasks.Progress(ctx, t, part)
	if err == nil && !wanted {
		cancel(queue.ErrCancelled)
	} else if err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "could not write progress", "task", t.String(), "err", err)
	}
}

// reportChanges calls note with each new value of latest, until ctx ends.
func reportChanges(ctx context.Context, latest *atomic.Uint64, note func(part float64)) {
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
