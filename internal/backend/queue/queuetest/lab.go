package queuetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// testTimeout is how long the suite waits for what must happen. It is reached only
// when a test fails.
const testTimeout = 20 * time.Second

const (
	someVideo video.ID = "0198c5b6-7d5e-7c3a-9b1e-000000000001"
	other     video.ID = "0198c5b6-7d5e-7c3a-9b1e-000000000002"
)

// errRollback is the error of a transaction that fails on purpose.
var errRollback = errors.New("rolled back by the test")

// errTask is the error of a task that fails on purpose.
var errTask = errors.New("failed by the test")

// lab is a queue whose tasks the test directs: each task that begins is
// announced on begun and runs until the test ends it.
type lab struct {
	testing.TB
	Harness
	begun  chan *act
	closed chan struct{} // ends all acts when the test is over
	once   sync.Once     // closes closed

	running, peak atomic.Int32
}

// act is one attempt at a task.
type act struct {
	queue.Task
	ctx      context.Context
	began    time.Time
	end      chan error
	returned chan struct{} // closed when the handler has returned
}

func (a *act) hasReturned() bool {
	select {
	case <-a.returned:
		return true
	default:
		return false
	}
}

func newLab(t testing.TB, h Harness) *lab {
	l := &lab{TB: t, Harness: h, begun: make(chan *act, 1000), closed: make(chan struct{})}
	t.Cleanup(l.close)
	return l
}

// close ends what the test has left running.
func (l *lab) close() {
	l.once.Do(func() { close(l.closed) })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.Context()), testTimeout)
	defer cancel()
	if err := l.Queue.Stop(ctx); err != nil {
		l.Errorf("stop at the end of the test: %v", err)
	}
}

// handle is the handler of directed tasks.
func (l *lab) handle(ctx context.Context, t queue.Task) error {
	a := &act{Task: t, ctx: ctx, began: time.Now(), end: make(chan error, 1), returned: make(chan struct{})}
	defer close(a.returned)
	now := l.running.Add(1)
	defer l.running.Add(-1)
	for peak := l.peak.Load(); now > peak && !l.peak.CompareAndSwap(peak, now); peak = l.peak.Load() {
	}
	l.begun <- a
	select {
	case err := <-a.end:
		return err
	case <-l.closed:
		return errors.New("the test is over")
	}
}

// start starts the queue with directed tasks.
func (l *lab) start(n int) {
	l.Helper()
	l.startWith(n, l.handle)
}

func (l *lab) startWith(n int, h queue.Handler) {
	l.Helper()
	if err := l.Queue.Start(l.Context(), queue.Encoding(n, h)); err != nil {
		l.Fatalf("start: %v", err)
	}
}

// restart goes on with a new queue on the same database. It does not wait for the
// old one, which was stopped or is taken for dead, and cannot write any more.
func (l *lab) restart() {
	l.Helper()
	dead := l.Queue
	l.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(l.Context()))
		cancel()
		_ = dead.Stop(ctx)
	})
	l.Harness = l.Restart(l.TB)
	l.Cleanup(l.close) // before the new database is closed
}

func (l *lab) tx(f func(queue.Tx) error) {
	l.Helper()
	if err := l.InTx(l.Context(), f); err != nil {
		l.Fatalf("transaction: %v", err)
	}
}

func (l *lab) rollback(f func(queue.Tx) error) {
	l.Helper()
	err := l.InTx(l.Context(), func(tx queue.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return errRollback
	})
	if !errors.Is(err, errRollback) {
		l.Fatalf("transaction that is rolled back: %v", err)
	}
}

func (l *lab) enqueue(tasks ...queue.Task) {
	l.Helper()
	l.tx(func(tx queue.Tx) error { return l.Queue.Enqueue(l.Context(), tx, tasks...) })
}

func (l *lab) cancel(id video.ID, keep ...queue.Kind) {
	l.Helper()
	l.tx(func(tx queue.Tx) error { return l.Queue.Cancel(l.Context(), tx, id, keep...) })
}

// next returns the next task that begins, which must be want.
func (l *lab) next(want queue.Task) *act {
	l.Helper()
	select {
	case a := <-l.begun:
		if a.String() != want.String() {
			l.Fatalf("task %s (attempt %d) began, want %s", a, a.Attempt, want)
		}
		return a
	case <-time.After(testTimeout):
		l.Fatalf("task %s did not begin", want)
		return nil
	}
}

// one returns the next task that begins, which must be one of several.
func (l *lab) one(tasks ...queue.Task) *act {
	l.Helper()
	select {
	case a := <-l.begun:
		if !slices.ContainsFunc(tasks, func(t queue.Task) bool { return t.String() == a.String() }) {
			l.Fatalf("task %s began, want one of %v", a, tasks)
		}
		return a
	case <-time.After(testTimeout):
		l.Fatalf("none of %v began", tasks)
		return nil
	}
}

// together returns the attempts at tasks that begin at the same time, so that their
// order is not known.
func (l *lab) together(tasks ...queue.Task) []*act {
	l.Helper()
	acts := make([]*act, len(tasks))
	for range tasks {
		select {
		case a := <-l.begun:
			i := slices.IndexFunc(tasks, func(t queue.Task) bool { return t.String() == a.String() })
			if i < 0 || acts[i] != nil {
				l.Fatalf("task %s began, want each of %v once", a, tasks)
			}
			acts[i] = a
		case <-time.After(testTimeout):
			l.Fatalf("not all of %v began", tasks)
		}
	}
	return acts
}

// nextAttempt is next, and checks the number of the attempt.
func (l *lab) nextAttempt(want queue.Task, attempt int) *act {
	l.Helper()
	a := l.next(want)
	if a.Attempt != attempt {
		l.Fatalf("task %s began with attempt %d, want %d", a, a.Attempt, attempt)
	}
	return a
}

// finish ends a with err and waits until the queue knows. Use it where no
// other task of the same kind and video can begin meanwhile: WaitIdle would wait
// for that one, too.
func (l *lab) finish(a *act, err error) {
	l.Helper()
	a.end <- err
	l.waitIdle(a.Video, except(a.Kind)...)
}

func (l *lab) waitIdle(id video.ID, keep ...queue.Kind) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), testTimeout)
	defer cancel()
	if err := l.Queue.WaitIdle(ctx, id, keep...); err != nil {
		l.Fatalf("quiet: %v", err)
	}
}

// stopped waits until a's context has ended, and checks why.
func (l *lab) stopped(a *act, want error) {
	l.Helper()
	if got := l.ended(a); !errors.Is(got, want) {
		l.Fatalf("the context of %s ended with %v, want %v", a, got, want)
	}
}

// ended waits until a's context has ended, and returns why.
func (l *lab) ended(a *act) error {
	l.Helper()
	select {
	case <-a.ctx.Done():
	case <-time.After(testTimeout):
		l.Fatalf("the context of %s did not end", a)
	}
	return context.Cause(a.ctx)
}

// goesOn checks that a was not asked to stop.
func (l *lab) goesOn(a *act) {
	l.Helper()
	if a.ctx.Err() != nil {
		l.Fatalf("task %s was stopped with %v, want it to go on", a, context.Cause(a.ctx))
	}
}

// counts waits until so many tasks of all kinds wait and run.
func (l *lab) counts(waiting, running int) {
	l.Helper()
	deadline := time.Now().Add(testTimeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		stats, err := l.Queue.Stats(l.Context())
		if err != nil {
			l.Fatalf("stats: %v", err)
		}
		var sum queue.Stat
		for _, s := range stats {
			sum.Waiting += s.Waiting
			sum.Running += s.Running
		}
		if sum.Waiting == waiting && sum.Running == running {
			return
		}
		if time.Now().After(deadline) {
			l.Fatalf("%d tasks wait and %d run, want %d and %d: %+v", sum.Waiting, sum.Running, waiting, running, stats)
		}
		time.Sleep(pause) // the contract has no signal for this
	}
}

// stop stops the queue in the background and returns what delivers the result.
func (l *lab) stop() <-chan error {
	ctx, cancel := context.WithTimeout(l.Context(), testTimeout)
	result := make(chan error, 1)
	q := l.Queue
	go func() {
		defer cancel()
		result <- q.Stop(ctx)
	}()
	return result
}

// succeeds checks the result of stop.
func (l *lab) succeeds(result <-chan error) {
	l.Helper()
	if err := <-result; err != nil {
		l.Fatalf("stop: %v", err)
	}
}

// task returns a task of someVideo.
func task(k queue.Kind, number int) queue.Task {
	return queue.Task{Kind: k, Video: someVideo, Number: number}
}

// marker returns a task that has nothing to do with the video. Tasks begin in
// the order enqueued, so one that begins proves that nothing before it could.
func marker(number int) queue.Task {
	return queue.Task{Kind: queue.Inspect, Video: other, Number: number}
}

// except lists the kinds that this suite uses, but one.
func except(k queue.Kind) []queue.Kind {
	var kinds []queue.Kind
	for _, other := range []queue.Kind{queue.Inspect, queue.Encode, queue.Audio, queue.Thumbnails, queue.Assemble, queue.Purge} {
		if other != k {
			kinds = append(kinds, other)
		}
	}
	return kinds
}
