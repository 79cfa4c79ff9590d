package queuetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/queue"
)

func statsCases() []testCase {
	return []testCase{
		{"an empty queue has none", func(l *lab) { l.counts(0, 0) }},
		{"tasks are counted by kind", testStatsByKind},
		{"the tasks of a video are named", testNamesOfAVideo},
		{"the age of the oldest due task is reported", testStatsOldest},
		{"the workers are listed while they work", testWorkers},
	}
}

func testStatsByKind(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 1), task(queue.Encode, 2), task(queue.Audio, 0), task(queue.Purge, 0))
	l.next(task(queue.Encode, 0))

	got, err := l.Queue.Stats(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	for kind, s := range got {
		s.Oldest = 0
		got[kind] = s
	}
	want := map[queue.Kind]queue.Stat{
		queue.Encode: {Waiting: 2, Running: 1},
		queue.Audio:  {Waiting: 1},
		queue.Purge:  {Waiting: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.Errorf("stats differ (-want +got):\n%s", diff)
	}
}

func testNamesOfAVideo(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Encode, 0), task(queue.Encode, 7), task(queue.Purge, 0), marker(0))
	l.next(task(queue.Encode, 0))

	var names []queue.Name
	l.tx(func(tx queue.Tx) (err error) {
		names, err = l.Queue.Names(l.Context(), tx, someVideo)
		return err
	})
	got := map[queue.Name]int{}
	for _, n := range names {
		got[n]++
	}
	want := map[queue.Name]int{task(queue.Encode, 0).Name(): 1, task(queue.Encode, 7).Name(): 1, task(queue.Purge, 0).Name(): 1}
	if diff := cmp.Diff(want, got); diff != "" {
		l.Errorf("names differ (-want +got):\n%s", diff)
	}
}

func testStatsOldest(l *lab) {
	l.start(1)
	l.enqueue(task(queue.Purge, 0))
	l.next(task(queue.Purge, 0)).end <- queue.RetryAfter(time.Minute, errTask)
	l.enqueue(marker(1))
	l.next(marker(1))
	began := time.Now()
	l.enqueue(task(queue.Encode, 0))
	time.Sleep(20 * time.Millisecond) // the age itself is what is tested
	l.enqueue(task(queue.Encode, 1))

	got, err := l.Queue.Stats(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	if age, most := got[queue.Encode].Oldest, time.Since(began)+time.Millisecond; age < 15*time.Millisecond || age > most {
		l.Errorf("the oldest task has been waiting for %v, want 20ms to %v", age, most)
	}
	if age := got[queue.Purge].Oldest; age != 0 {
		l.Errorf("a task that is not due has been waiting for %v, want 0", age)
	}
}

func testWorkers(l *lab) {
	list := func() []queue.Worker {
		all, err := l.Queue.Workers(l.Context())
		if err != nil {
			l.Fatal(err)
		}
		return all
	}
	if all := list(); len(all) != 0 {
		l.Errorf("before the start there are workers: %+v", all)
	}
	l.start(3)
	l.enqueue(task(queue.Encode, 7))
	l.next(task(queue.Encode, 7))
	all := list()
	if len(all) != 1 || all[0].ID == "" || all[0].Host == "" || all[0].Slots != 3 || len(all[0].Running) != 1 ||
		all[0].Running[0].Name() != task(queue.Encode, 7).Name() || all[0].Version != Version || all[0].Sandbox != "level" || all[0].Cores != 5 {
		l.Errorf("the workers are %+v, want one with one of three tasks", all)
	}
}

// Version is the one that queues have in these tests.
const Version = "1.2.3"

// About is what queues are given in these tests.
func About() queue.About { return queue.About{Version: Version, Sandbox: "level", Cores: 5} }
