package local

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/executor"
)

// maxSleep is how long the dispatcher sleeps at most. Wake-ups and the next run_at
// wake it in time; this bounds the delay if a clock was set or a wake-up was lost.
const maxSleep = 2 * time.Second

// Start implements queue.Queue. ctx bounds only the start; the handlers get its
// values. Only Stop ends the work.
func (q *Queue) Start(ctx context.Context, n int, h queue.Handler) error {
	return q.executor.Start(n, func() (func(), error) {
		if err := q.reclaim(ctx); err != nil {
			return nil, err
		}
		q.self.started.Store(&start{time.Now(), n})
		return func() { q.dispatch(context.WithoutCancel(ctx), n, h) }, nil
	})
}

// Stop implements queue.Queue. If ctx ends before a task could be requeued, the
// Start of the next process reclaims it.
func (q *Queue) Stop(ctx context.Context) error { return q.executor.Stop(ctx) }

// dispatch claims tasks and starts a goroutine for each until the queue stops. It
// is the only caller of claim: between two claims every running row of the table
// has an attempt.
func (q *Queue) dispatch(ctx context.Context, n int, h queue.Handler) {
	defer q.workers.Wait()

	for failures := 0; !q.executor.IsStopping(); {
		pause, err := q.fillOnce(ctx, n, h, failures > 0)
		if err == nil {
			failures = 0
			q.sleep(pause, q.wakeUp)
			continue
		}
		failures++
		pause = queue.Backoff(failures)
		q.log.ErrorContext(ctx, "tasks cannot be claimed", append(executor.LogAttrs(err), "failures", failures, "pause", pause)...)
		q.sleep(pause, nil) // listening to wake-ups would make this a busy loop
	}
}

// fillOnce fills the free slots of this process and returns how long to sleep
// then. A claim that failed may have been written all the same, so after an error
// it first reclaims what nobody runs.
func (q *Queue) fillOnce(ctx context.Context, n int, h queue.Handler, afterError bool) (pause time.Duration, err error) {
	err = executor.Recover(func() (err error) {
		if afterError {
			if err := q.reclaim(ctx); err != nil {
				return err
			}
		}
		pause, err = q.claimUntilFull(ctx, n, h)
		return err
	})
	return pause, err
}

// sleep waits for d, a wake-up or Stop, whichever comes first.
func (q *Queue) sleep(d time.Duration, wakeUp <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wakeUp:
	case <-q.executor.Stopping():
	}
}

// claimUntilFull claims tasks until n run.
func (q *Queue) claimUntilFull(ctx context.Context, n int, h queue.Handler) (time.Duration, error) {
	for !q.executor.IsStopping() {
		running := q.runningNames()
		now := q.now()
		if len(running) >= n {
			return q.pauseWhenFull(), q.preempt(ctx, now)
		}
		c, found, err := q.claim(ctx, now, running)
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

// preemptSpareAfter is how long a task is due before one of spare time is interrupted for it.
func (q *Queue) preemptSpareAfter() time.Duration {
	return min(q.preemptAfter, queue.PreemptSpareAfter)
}

// pauseWhenFull is how long to sleep while all slots are taken.
func (q *Queue) pauseWhenFull() time.Duration {
	if q.executor.Spare() > 0 {
		return q.preemptSpareAfter()
	}
	return maxSleep
}

// preempt interrupts tasks of spare time, if others are due. If there are none, it
// interrupts a task of a tenant that runs several, if another tenant has
// waited for long and runs none. The dispatcher looks at least every maxSleep, and
// while tasks come and go quickly, about every second.
func (q *Queue) preempt(ctx context.Context, now time.Time) error {
	if now.Sub(q.looked).Abs() < min(q.preemptAfter, time.Second) {
		return nil
	}
	q.looked = now
	if spare := q.executor.Spare(); spare > 0 {
		due, err := q.countDue(ctx, now.Add(-q.preemptSpareAfter()), spare)
		if due > 0 {
			q.executor.YieldSpare(due)
		}
		return err
	}
	id, found := q.executor.Youngest(func(id int64) bool { return q.yielded[id] })
	if !found {
		return nil
	}
	waits, err := q.somebodyWaits(ctx, now.Add(-q.preemptAfter))
	if err != nil || !waits {
		return err
	}
	q.yielded[id] = true
	q.executor.Yield(id)
	return nil
}

// begin hands a claimed task to the handler. The handler's context has ended
// already if the task was cancelled since the claim.
func (q *Queue) begin(ctx context.Context, c claimed, h queue.Handler) {
	a := q.executor.Begin(ctx, c.id, c.task)
	if q.wasCancelled(c.id) {
		a.Cancel()
	}
	q.workers.Go(func() {
		_ = q.executor.Execute(a, h, q.finish) // the error is logged and recorded
		q.wake()                               // a slot is free, and the same name may have waited for this attempt
	})
}

// finish returns the write that records the result of an attempt in its row.
func (q *Queue) finish(a *executor.Attempt, r executor.Result, pause time.Duration) func(context.Context) error {
	switch r {
	case executor.Cancelled:
		return func(context.Context) error { return nil } // Cancel has deleted the row
	case executor.Stopped:
		return func(ctx context.Context) error { return q.requeue(ctx, a) }
	case executor.Failed:
		q.self.failed.Add(1)
		due := q.now().Add(pause)
		return func(ctx context.Context) error { return q.retryAt(ctx, a, due) }
	default:
		q.self.done.Add(1)
		return func(ctx context.Context) error { return q.remove(ctx, a) }
	}
}
