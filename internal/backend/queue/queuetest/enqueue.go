package queuetest

import (
	"github.com/spool-video/spool/internal/backend/queue"
)

func enqueueCases() []testCase {
	return []testCase{
		{"a committed task runs with what it was given", testCommitted},
		{"a task enqueued before the start runs after it", testBeforeStart},
		{"a task of a transaction that is rolled back never runs", testRolledBack},
		{"no task at all is no error", func(l *lab) { l.enqueue() }},
		{"a name that waits already is skipped", testSkipWaiting},
		{"a name that runs already is skipped", testSkipRunning},
		{"a name whose task has ended runs again", testNameAgain},
		{"names differ by kind, by video and by number", testNames},
		{"smaller priorities run first and equal ones in the order enqueued", testPriority},
		{"five hundred tasks go in at once", testMany},
		{"all tasks are listed with what they were given, also the running ones", testAll},
	}
}

func testCommitted(l *lab) {
	l.start(2)
	want := queue.Task{Kind: queue.Encode, Video: someVideo, Number: 7, Tenant: "acme", Priority: 3}
	l.enqueue(want)
	a := l.nextAttempt(want, 1)
	if a.Tenant != want.Tenant || a.Priority != want.Priority {
		l.Errorf("tenant %q and priority %d, want %q and %d", a.Tenant, a.Priority, want.Tenant, want.Priority)
	}
	l.finish(a, nil)
	l.counts(0, 0)
}

func testBeforeStart(l *lab) {
	l.enqueue(task(queue.Inspect, 0))
	l.counts(1, 0)
	l.start(1)
	l.next(task(queue.Inspect, 0))
	l.counts(0, 1)
}

func testRolledBack(l *lab) {
	l.start(1)
	l.rollback(func(tx queue.Tx) error { return l.Queue.Enqueue(l.Context(), tx, task(queue.Inspect, 0)) })
	l.enqueue(marker(1))
	l.finish(l.next(marker(1)), nil)
	l.counts(0, 0)
}

func testSkipWaiting(l *lab) {
	again := task(queue.Audio, 0)
	again.Priority = -1
	l.enqueue(marker(1), task(queue.Audio, 0), again)
	l.enqueue(again)
	l.counts(2, 0)
	l.start(1)
	l.finish(l.next(marker(1)), nil) // the skipped ones did not change the priority
	l.finish(l.next(task(queue.Audio, 0)), nil)
	l.counts(0, 0)
}

func testSkipRunning(l *lab) {
	l.start(2)
	l.enqueue(task(queue.Audio, 0))
	a := l.next(task(queue.Audio, 0))
	l.enqueue(task(queue.Audio, 0), marker(1))
	l.counts(0, 2)
	l.finish(l.next(marker(1)), nil)
	l.finish(a, nil)
	l.counts(0, 0)
}

func testNameAgain(l *lab) {
	l.start(1)
	for range 3 {
		l.enqueue(task(queue.Audio, 0))
		l.finish(l.nextAttempt(task(queue.Audio, 0), 1), nil)
	}
}

func testNames(l *lab) {
	names := []queue.Task{
		{Kind: queue.Encode, Video: someVideo, Number: 0},
		{Kind: queue.Encode, Video: someVideo, Number: 1},
		{Kind: queue.Audio, Video: someVideo, Number: 0},
		{Kind: queue.Encode, Video: other, Number: 0},
	}
	l.enqueue(names...)
	l.start(len(names))
	l.together(names...)
	l.counts(0, len(names))
}

func testPriority(l *lab) {
	for i, p := range []int{5, -1, 3, 5, 3} {
		l.enqueue(queue.Task{Kind: queue.Encode, Video: someVideo, Number: i, Priority: p})
	}
	l.start(1)
	for _, i := range []int{1, 2, 4, 0, 3} {
		l.next(task(queue.Encode, i)).end <- nil
	}
}

func testMany(l *lab) {
	var tasks []queue.Task
	for i := range 500 {
		tasks = append(tasks, task(queue.Encode, i))
	}
	l.enqueue(tasks...)
	l.counts(500, 0)
	l.start(1)
	l.next(tasks[0]).end <- nil
	l.next(tasks[1])
	l.counts(498, 1)
}

func testAll(l *lab) {
	l.start(1)
	running := queue.Task{Kind: queue.Encode, Video: someVideo, Number: 7, Tenant: "acme", Priority: 3}
	l.enqueue(running)
	a := l.nextAttempt(running, 1)
	waiting := queue.Task{Kind: queue.Purge, Video: other}
	l.enqueue(waiting)
	var all []queue.Task
	err := l.InTx(l.Context(), func(tx queue.Tx) error {
		for t, err := range l.Queue.All(l.Context(), tx) {
			if err != nil {
				return err
			}
			all = append(all, t)
		}
		return nil
	})
	if err != nil || len(all) != 2 {
		l.Fatalf("listed %v, %v; want two", all, err)
	}
	if t := all[0]; t.Name() != running.Name() || t.Tenant != running.Tenant || t.Priority != running.Priority {
		l.Errorf("listed %+v; want %+v", t, running)
	}
	if t := all[1]; t.Name() != waiting.Name() || t.Tenant != "" {
		l.Errorf("listed %+v; want %+v", t, waiting)
	}
	l.finish(a, nil)
}
