package local

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/life"
)

// poll is how long the dispatcher sleeps at most. The bell and the next run_at
// wake it in time; this is for the case that a clock was set or a bell missed.
const poll = 2 * time.Second

// Start implements queue.Queue. ctx bounds the start alone and lends the
// handlers its values; only Stop ends the work.
func (q *Queue) Start(ctx context.Context, n int, h queue.Handler) error {
	return q.life.Start(n, func() (func(), error) {
		if err := q.setBackLost(ctx); err != nil {
			return nil, err
		}
		return func() { q.dispatch(context.WithoutCancel(ctx), n, h) }, nil
	})
}

// Stop implements queue.Queue. A task whose return to the queue could not be
// written when ctx ends is found by the next process's Start.
func (q *Queue) Stop(ctx context.Context) error { return q.life.Stop(ctx) }

// dispatch claims tasks and starts a goroutine for each until the queue stops.
// It is the only one that claims: between two claims every running row of the
// table has a run.
func (q *Queue) dispatch(ctx context.Context, n int, h queue.Handler) {
	defer q.workers.Wait()

	for failures := 0; !q.life.IsStopping(); {
		pause, err := q.round(ctx, n, h, failures > 0)
		if err == nil {
			failures = 0
			q.sleep(pause, q.bell)
			continue
		}
		failures++
		pause = queue.Backoff(failures)
		q.log.ErrorContext(ctx, "tasks cannot be claimed", "err", err, "failures", failures, "pause", pause)
		q.sleep(pause, nil) // the bell would make this a busy loop
	}
}

// round fills the free places and returns how long it makes sense to sleep
// then. A claim that failed may have been written all the same, so after an
// error it first sets back what nobody runs.
func (q *Queue) round(ctx context.Context, n int, h queue.Handler, afterError bool) (time.Duration, error) {
	if afterError {
		if err := q.setBackLost(ctx); err != nil {
			return 0, err
		}
	}
	return q.fill(ctx, n, h)
}

// sleep waits for d, the bell or Stop, whichever comes first.
func (q *Queue) sleep(d time.Duration, bell <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-bell:
	case <-q.life.Stopping():
	}
}

// fill claims tasks while there is room for more.
func (q *Queue) fill(ctx context.Context, n int, h queue.Handler) (time.Duration, error) {
	for !q.life.IsStopping() {
		busy := q.names()
		if len(busy) >= n {
			return poll, nil
		}
		now := q.now()
		c, found, err := q.claim(ctx, now, busy)
		if err != nil {
			return 0, err
		}
		if !found {
			return q.untilDue(ctx, now)
		}
		q.begin(ctx, c, h)
	}
	return 0, nil
}

// begin hands a claimed task to the handler, whose context has ended already if
// the task was cancelled since the claim.
func (q *Queue) begin(ctx context.Context, c claimed, h queue.Handler) {
	r := q.life.Begin(ctx, c.id, c.task)
	if q.isDoomed(c.id) {
		r.Cancel()
	}
	q.workers.Go(func() {
		_ = q.life.Work(r, h, q.end) // the error is logged and recorded
		q.ring()                     // there is room, and the same name may have waited for this end
	})
}

// end returns the write that makes the end of a run so for its row.
func (q *Queue) end(r *life.Run, o life.Outcome, pause time.Duration) func(context.Context) error {
	switch o {
	case life.Cancelled:
		return func(context.Context) error { return nil } // Cancel has removed the row
	case life.Stopped:
		return func(ctx context.Context) error { return q.handBack(ctx, r) }
	case life.Failed:
		due := q.now().Add(pause)
		return func(ctx context.Context) error { return q.putOff(ctx, r, due) }
	default:
		return func(ctx context.Context) error { return q.remove(ctx, r) }
	}
}
