package river_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// BenchmarkPickup measures the time from the commit on one machine to the call
// of the handler on another. Its ns/op holds the enqueuing transaction and the
// end of the task as well.
func BenchmarkPickup(b *testing.B) {
	address := pgtest.Fresh(b)
	here, there := newMachine(b, address, river.Options{}), newMachine(b, address, river.Options{})
	err := here.Start(b.Context(), map[queue.Lane]queue.Pool{queue.NetworkLane: {Places: 1}}) // so that it admits
	if err != nil {
		b.Fatal(err)
	}
	begun := make(chan time.Time, 1)
	there.run(4, func(context.Context, queue.Task) error { begun <- time.Now(); return nil })
	var waits []time.Duration
	for i := 0; b.Loop(); i++ {
		var committed time.Time
		here.tx(func(tx *store.Tx) error {
			tx.OnCommit(func() { committed = time.Now() })
			return here.Enqueue(b.Context(), tx, encode(i))
		})
		waits = append(waits, (<-begun).Sub(committed))
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkTasks measures how many tasks that do nothing one machine gets
// through, four at a time.
func BenchmarkTasks(b *testing.B) {
	m := newMachine(b, pgtest.Fresh(b), river.Options{})
	done := make(chan struct{}, 500)
	m.run(4, func(context.Context, queue.Task) error { done <- struct{}{}; return nil })
	for n := 0; b.Loop(); n++ {
		if n%500 == 0 {
			var tasks []queue.Task
			for i := range 500 {
				tasks = append(tasks, encode(n+i))
			}
			m.enqueue(tasks...)
		}
		<-done
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}

// BenchmarkBacklog measures what a task costs, from its transaction to its
// beginning, while another tenant has a backlog.
func BenchmarkBacklog(b *testing.B) {
	for _, waiting := range []int{5_000, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			address := pgtest.Fresh(b)
			m := newMachine(b, address, river.Options{})
			for first := 0; first < waiting; first += 1_000 {
				m.enqueue(large(first, 1_000)...)
			}
			pgtest.Exec(b, address, `VACUUM ANALYZE river_job`)
			done := make(chan struct{}, 1)
			m.run(2, func(_ context.Context, t queue.Task) error {
				if t.Tenant == "small" {
					done <- struct{}{}
				}
				return nil
			})
			for i := 0; b.Loop(); i++ {
				small := queue.Task{Kind: queue.Audio, Video: someVideo, Number: i, Tenant: "small"}
				m.enqueue(append(large(waiting+i, 1), small)...)
				<-done
			}
		})
	}
}

// large returns tasks of a tenant that has many.
func large(first, n int) []queue.Task {
	var tasks []queue.Task
	for i := range n {
		t := encode(first + i)
		t.Tenant, t.Priority = "large", (first+i)%50
		tasks = append(tasks, t)
	}
	return tasks
}

// BenchmarkEnqueue measures a transaction that enqueues the chunks of a video.
func BenchmarkEnqueue(b *testing.B) {
	m := newMachine(b, pgtest.Fresh(b), river.Options{})
	for i := 0; b.Loop(); i++ {
		var tasks []queue.Task
		for n := range 500 {
			tasks = append(tasks, encode(500*i+n))
		}
		m.enqueue(tasks...)
	}
}
