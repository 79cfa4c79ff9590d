package queuetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

func workCases() []testCase {
	return []testCase{
		{"a task that fails is retried later and later", testRetry},
		{"a handler may choose the pause before the next attempt", testRetryAfter},
		{"a task that panics is retried", testPanic},
		{"other tasks go on while one waits for its retry", testRetryAside},
		{"a task that failed goes before equal ones that were enqueued after it", testRetryOrder},
		{"a handler may enqueue what comes next", testChain},
		{"never more than n tasks run at once", testAtMost},
		{"two hundred tasks on four workers each run once", testEachOnce},
		{"a queue cannot be started twice", testStartTwice},
	}
}

func testRetry(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0))
	a := l.nextAttempt(task(queue.Encode, 0), 1)
	for failures := 1; failures <= 2; failures++ {
		failed := time.Now()
		a.end <- errTask
		a = l.nextAttempt(task(queue.Encode, 0), failures+1)
		least := queue.Backoff(failures) * 7 / 10
		if pause := a.began.Sub(failed); pause < least {
			l.Errorf("attempt %d began %v after the failure, want a pause of %v at least", a.Attempt, pause, least)
		}
	}
	l.finish(a, nil)
	l.counts(0, 0)
}

func testRetryAfter(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0), marker(1))
	failed := time.Now()
	const pause = 3 * time.Second // longer than the first pause of Backoff
	l.next(task(queue.Encode, 0)).end <- queue.RetryAfter(pause, errTask)
	l.finish(l.next(marker(1)), nil)
	a := l.nextAttempt(task(queue.Encode, 0), 2)
	if waited := a.began.Sub(failed); waited < pause-100*time.Millisecond {
		l.Errorf("the second attempt began after %v, want %v", waited, pause)
	}
	l.finish(a, nil)
	l.counts(0, 0)
}

func testPanic(l *lab) {
	l.startWith(1, func(ctx context.Context, t queue.Task) error {
		if t.Kind == queue.Encode && t.Attempt == 1 {
			panic("meant by the test")
		}
		return l.handle(ctx, t)
	})
	l.enqueue(task(queue.Encode, 0), marker(1))
	l.finish(l.next(marker(1)), nil)
	l.finish(l.nextAttempt(task(queue.Encode, 0), 2), nil)
	l.counts(0, 0)
}

func testRetryAside(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0), marker(1))
	l.next(task(queue.Encode, 0)).end <- errTask
	l.finish(l.next(marker(1)), nil)
	l.nextAttempt(task(queue.Encode, 0), 2)
}

func testRetryOrder(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1), task(queue.Encode, 2))
	l.next(task(queue.Encode, 0)).end <- queue.RetryAfter(time.Second, errTask)
	second := l.next(task(queue.Encode, 1))
	time.Sleep(3 * time.Second) // the first is due now
	second.end <- nil
	l.nextAttempt(task(queue.Encode, 0), 2).end <- nil
	l.next(task(queue.Encode, 2)).end <- nil
}

func testChain(l *lab) {
	l.startWith(1, func(ctx context.Context, t queue.Task) error {
		if t.Kind != queue.Inspect {
			return l.handle(ctx, t)
		}
		return l.InTx(ctx, func(tx queue.Tx) error {
			return l.Queue.Enqueue(ctx, tx, task(queue.Encode, 0), task(queue.Encode, 1))
		})
	})
	l.enqueue(task(queue.Inspect, 0))
	l.next(task(queue.Encode, 0)).end <- nil
	l.next(task(queue.Encode, 1)).end <- nil
	l.counts(0, 0)
}

func testAtMost(l *lab) {
	const n, total = 3, 12
	for i := range total {
		l.enqueue(task(queue.Encode, i))
	}
	l.start(n)
	var acts []*act
	for i := range total {
		if len(acts) == n { // all workers are busy: the next begins when one is freed
			acts[0].end <- nil
			acts = acts[1:]
		}
		select {
		case a := <-l.begun:
			acts = append(acts, a)
		case <-time.After(testTimeout):
			l.Fatalf("only %d of %d tasks began", i, total)
		}
	}
	if peak := l.peak.Load(); peak != n {
		l.Errorf("%d tasks ran at once, want %d", peak, n)
	}
}

func testEachOnce(l *lab) {
	const total, workers = 200, 4
	var mu sync.Mutex
	runs := map[string]int{}
	done := make(chan struct{}, 2*total)
	l.startWith(workers, func(_ context.Context, t queue.Task) error {
		mu.Lock()
		defer mu.Unlock()
		runs[t.String()]++
		done <- struct{}{}
		return nil
	})
	for batch := range 10 {
		var tasks []queue.Task
		for i := range total / 10 {
			tasks = append(tasks, task(queue.Encode, batch*total/10+i))
		}
		l.enqueue(tasks...)
	}
	for i := range total {
		select {
		case <-done:
		case <-time.After(testTimeout):
			l.Fatalf("%d of %d tasks ran", i, total)
		}
	}
	l.waitIdle(someVideo)
	l.counts(0, 0)
	mu.Lock()
	defer mu.Unlock()
	for i := range total {
		if n := runs[task(queue.Encode, i).String()]; n != 1 {
			l.Errorf("task %d ran %d times, want once", i, n)
		}
	}
}

func testStartTwice(l *lab) {
	l.start(1)
	never := func(context.Context, queue.Task) error {
		return fmt.Errorf("the handler of the second start was called")
	}
	if err := l.Queue.Start(l.Context(), queue.Encoding(1, never)); err == nil {
		l.Error("the second start succeeded, want an error")
	}
	l.enqueue(marker(1))
	l.finish(l.next(marker(1)), nil)
}
