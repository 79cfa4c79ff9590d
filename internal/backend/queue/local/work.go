package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/attempts"
	"github.com/spool-video/spool/internal/panics"
)

const (
	// maxSleep is how long the dispatcher sleeps at most. Wake-ups and the next due_at
	// wake it in time; this bounds the delay if a clock was set or a wake-up was lost.
	maxSleep = 2 * time.Second
	// maxServed is for how many shares it is known when they were last served.
	maxServed = 100_000
	// maxRecordPause is the longest pause between two tries to record a result.
	maxRecordPause = 2 * time.Second
)

// Start implements queue.Queue. ctx bounds only the start; the handlers get its
// values. Only Stop ends the work.
func (q *Queue) Start(ctx context.Context, lanes map[queue.Lane]queue.Pool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := attempts.CheckStart(lanes, q.isStopping(), q.lanes != nil); err != nil {
		return err
	}
	if err := q.reclaim(ctx); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	q.lanes, q.started, q.finished = lanes, time.Now(), make(chan struct{})
	go func() {
		defer close(q.finished)
		q.dispatch(context.WithoutCancel(ctx), lanes)
	}()
	return nil
}

// Stop implements queue.Queue. If ctx ends before a task could be put back, the
// Start of the next process reclaims it.
func (q *Queue) Stop(ctx context.Context) error {
	q.mu.Lock()
	if !q.isStopping() {
		close(q.stopping)
	}
	finished := q.finished
	q.mu.Unlock()
	if finished == nil {
		return nil
	}
	q.cancelAll()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		select {
		case <-q.abandoned:
		default:
			close(q.abandoned)
		}
		return fmt.Errorf("wait for running tasks to stop: %w", ctx.Err())
	}
}

// cancelAll tells every attempt to stop. One that begins later finds that the queue is stopping.
func (q *Queue) cancelAll() { q.running.Cancel(queue.ErrStopping, q.running.Rows()...) }

func (q *Queue) isStopping() bool {
	select {
	case <-q.stopping:
		return true
	default:
		return false
	}
}

// dispatch claims tasks and starts a goroutine for each until the queue stops. It
// is the only caller of claim: between two claims every running row of the table
// has an attempt.
func (q *Queue) dispatch(ctx context.Context, lanes map[queue.Lane]queue.Pool) {
	var workers sync.WaitGroup
	defer workers.Wait()

	for failures := 0; !q.isStopping(); {
		pause, err := q.fillAll(ctx, lanes, &workers, failures > 0)
		if err == nil {
			failures = 0
			q.sleep(pause, q.wakeUp)
			continue
		}
		failures++
		pause = queue.Backoff(failures)
		q.log.ErrorContext(ctx, "tasks cannot be claimed", append(attempts.LogAttrs(err), "failures", failures, "pause", pause)...)
		q.sleep(pause, nil) // listening to wake-ups would make this a busy loop
	}
}

// fillAll fills the free places of this process and returns how long to sleep
// then. A claim that failed may have been written all the same, so after an error
// it first reclaims what nothing runs.
func (q *Queue) fillAll(ctx context.Context, lanes map[queue.Lane]queue.Pool, workers *sync.WaitGroup, afterError bool) (pause time.Duration, err error) {
	pause = maxSleep
	err = panics.Catch(func() error {
		if afterError {
			if err := q.reclaim(ctx); err != nil {
				return err
			}
		}
		for lane, pool := range lanes {
			soon, err := q.fill(ctx, lane, pool, workers)
			if err != nil {
				return err
			}
			pause = min(pause, soon)
		}
		return nil
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
	case <-q.stopping:
	}
}

// fill begins tasks of a lane while it has places and tasks, and returns how long to sleep then.
func (q *Queue) fill(ctx context.Context, lane queue.Lane, pool queue.Pool, workers *sync.WaitGroup) (time.Duration, error) {
	now := q.now()
	pause, err := q.untilDue(ctx, lane, now)
	for err == nil && !q.isStopping() {
		if len(q.running.Running(lane)) >= pool.Places {
			yield := q.yieldSpare
			if lane.Long() {
				yield = q.yieldToOthers
			}
			soon, err := yield(ctx, lane, now)
			return min(pause, soon), err
		}
		id, found, nextErr := q.next(ctx, lane, pool)
		if nextErr != nil || !found {
			return pause, nextErr
		}
		err = q.begin(ctx, id, pool, workers)
	}
	return pause, err
}

// yieldSpare interrupts tasks of spare time on a lane without a free place, the youngest first, if others have
// waited for a while. It returns how long to sleep.
func (q *Queue) yieldSpare(ctx context.Context, lane queue.Lane, now time.Time) (time.Duration, error) {
	var spare []*attempts.Attempt
	yielding := 0
	for _, a := range q.running.All() {
		switch {
		case a.Task.Kind.Lane() != lane || a.Task.Priority < queue.Spare:
		case a.Cause() != nil:
			yielding++
		default:
			spare = append(spare, a)
		}
	}
	if len(spare) == 0 {
		return maxSleep, nil
	}
	waiting, err := q.countWaiting(ctx, lane, now.Add(-queue.YieldsAfter), len(spare)+yielding)
	for i := range waiting - yielding {
		spare[len(spare)-1-i].Cancel(attempts.ErrYield)
	}
	return queue.YieldsAfter, err
}

// yieldToOthers interrupts tasks on a lane without a free place, one for each share that runs none and has
// waited for a while. It returns how long to sleep.
func (q *Queue) yieldToOthers(ctx context.Context, lane queue.Lane, now time.Time) (time.Duration, error) {
	surplus, yielding := q.surplus(lane)
	if len(surplus) == 0 {
		return maxSleep, nil
	}
	heads, err := q.heads(ctx, lane)
	if err != nil {
		return 0, err
	}
	held, _ := q.held(lane)
	due, waiting := now.Add(-queue.YieldsAfter).UnixMilli(), 0
	for _, h := range heads {
		if held[h.share] == 0 && h.dueAt <= due {
			waiting++
		}
	}
	for _, a := range surplus[:min(max(waiting-yielding, 0), len(surplus))] {
		a.Cancel(attempts.ErrYield)
	}
	return queue.YieldsAfter, nil
}

// surplus returns the attempts on a lane beside the oldest one of each share. The first is the youngest of the
// share that runs the most. yielding is how many attempts are ending already.
func (q *Queue) surplus(lane queue.Lane) (surplus []*attempts.Attempt, yielding int) {
	running, nth := map[string]int{}, map[*attempts.Attempt]int{}
	for _, a := range q.running.All() {
		switch {
		case a.Task.Kind.Lane() != lane:
		case a.Cause() != nil:
			yielding++
		default:
			running[a.Task.Share()]++
			if nth[a] = running[a.Task.Share()]; nth[a] > 1 {
				surplus = append(surplus, a)
			}
		}
	}
	slices.Reverse(surplus)
	slices.SortStableFunc(surplus, func(a, b *attempts.Attempt) int { return cmp.Compare(nth[b], nth[a]) })
	return surplus, yielding
}

// begin claims a task and hands it to the handler. The handler's context has ended
// already if the task was cancelled since, or if the queue is stopping.
func (q *Queue) begin(ctx context.Context, id int64, pool queue.Pool, workers *sync.WaitGroup) error {
	t, found, err := q.claim(ctx, id)
	if err != nil || !found {
		return err
	}
	a := q.running.Begin(ctx, id, t)
	if len(q.served) >= maxServed {
		clear(q.served)
	}
	q.begun++
	q.served[servedKey(t.Kind.Lane(), t.Share())] = q.begun
	if q.wasCancelled(id) {
		a.Cancel(queue.ErrCancelled)
	}
	if q.isStopping() {
		a.Cancel(queue.ErrStopping)
	}
	workers.Go(func() {
		defer q.wake() // a place is free, and the same name may have waited for this attempt
		defer q.running.End(a)
		err := a.Run(pool.Handle)
		q.record(ctx, a, q.result(ctx, a, err))
	})
	return nil
}

// result decides what is written at the end of an attempt. If the handler was told to stop, its error does
// not count.
func (q *Queue) result(ctx context.Context, a *attempts.Attempt, err error) (write func(context.Context) error) {
	encodes := a.Task.Kind.Lane() == queue.EncodeLane
	switch cause := a.Cause(); {
	case a.Completed(), errors.Is(cause, queue.ErrCancelled):
		return func(context.Context) error { return nil } // the row is gone
	case cause != nil:
		return func(ctx context.Context) error { return q.putBack(ctx, a, !errors.Is(cause, attempts.ErrYield)) }
	case err == nil:
		if encodes {
			q.done.Add(1)
		}
		return func(ctx context.Context) error { return q.remove(ctx, a) }
	}
	if encodes {
		q.failed.Add(1)
	}
	pause := a.Pause(err)
	if _, asked := queue.PauseOf(err); !asked {
		q.log.WarnContext(ctx, "a task failed and will run again",
			append(attempts.LogAttrs(err), "task", a.Task.String(), "attempt", a.Task.Attempt, "pause", pause)...)
	}
	due := q.now().Add(pause)
	return func(ctx context.Context) error { return q.retryAt(ctx, a, due) }
}

// record writes the result of an attempt. If the database refuses, it tries again: meanwhile the task stays
// claimed, so it does not run a second time. It gives up when Stop has given up waiting.
func (q *Queue) record(ctx context.Context, a *attempts.Attempt, write func(context.Context) error) {
	for failures := 1; ; failures++ {
		err := write(ctx)
		if err == nil {
			return
		}
		pause := min(queue.Backoff(failures), maxRecordPause)
		q.log.ErrorContext(ctx, "the result of a task cannot be recorded",
			"task", a.Task.String(), "err", err, "failures", failures, "pause", pause)
		select {
		case <-time.After(pause):
		case <-q.abandoned:
			return
		}
	}
}

// remove deletes a task. It is no error if the row is gone.
func (q *Queue) remove(ctx context.Context, a *attempts.Attempt) error {
	if _, err := q.db.ExecContext(ctx, `DELETE FROM task WHERE id = $1`, a.Row); err != nil {
		return fmt.Errorf("remove task %s: %w", a.Task, err)
	}
	return nil
}

// retryAt makes a task run again at due, and not earlier. A row that Cancel has deleted meanwhile stays deleted.
func (q *Queue) retryAt(ctx context.Context, a *attempts.Attempt, due time.Time) error {
	const update = `UPDATE task SET state = 'later', due_at = $1, rank = max(rank, 1) WHERE id = $2`

	if _, err := q.db.ExecContext(ctx, update, due.Add(time.Millisecond).UnixMilli(), a.Row); err != nil {
		return fmt.Errorf("schedule task %s again: %w", a.Task, err)
	}
	return nil
}

// putBack makes a task run again at once, before others or in the usual order. The attempt does not count.
func (q *Queue) putBack(ctx context.Context, a *attempts.Attempt, first bool) error {
	const update = `
		UPDATE task SET state = 'ready', attempt = attempt - 1, rank = CASE WHEN rank = 2 THEN 2 WHEN $2 THEN 0 ELSE 1 END
		 WHERE id = $1`

	if _, err := q.db.ExecContext(ctx, update, a.Row, first); err != nil {
		return fmt.Errorf("put task %s back: %w", a.Task, err)
	}
	return nil
}
