package local

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// BenchmarkPickup measures the time from the commit to the call of the handler.
// Its ns/op holds the enqueuing transaction and the end of the task as well.
func BenchmarkPickup(b *testing.B) {
	h := harness(b, filepath.Join(b.TempDir(), "spool.db"))
	begun := make(chan time.Time, 1)
	startBench(b, h.Queue, func(context.Context, queue.Task) error { begun <- time.Now(); return nil })
	var waits []time.Duration
	for i := 0; b.Loop(); i++ {
		var committed time.Time
		err := h.InTx(b.Context(), func(tx queue.Tx) error {
			tx.OnCommit(func() { committed = time.Now() })
			return h.Queue.Enqueue(b.Context(), tx, queue.Task{Kind: queue.Encode, Video: someVideo, Number: i})
		})
		if err != nil {
			b.Fatal(err)
		}
		waits = append(waits, (<-begun).Sub(committed))
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkTasks measures how many tasks that do nothing four workers get
// through, also with many tasks in the table that are not due.
func BenchmarkTasks(b *testing.B) {
	for _, later := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("later=%d", later), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "spool.db")
			h := harness(b, path)
			tasks := make([]queue.Task, later)
			for i := range tasks {
				tasks[i] = queue.Task{Kind: queue.Purge, Video: someVideo, Number: i}
			}
			enqueueBench(b, h.InTx, h.Queue, tasks)
			due := time.Now().Add(queue.EncodeLane.LongestPause()).UnixMilli()
			if _, err := openDB(b, path).ExecContext(b.Context(), `UPDATE task SET state = 'later', due_at = $1`, due); err != nil {
				b.Fatal(err)
			}
			done := make(chan struct{}, 500)
			startBench(b, h.Queue, func(context.Context, queue.Task) error { done <- struct{}{}; return nil })
			for n := 0; b.Loop(); n++ {
				if n%500 == 0 {
					enqueueBench(b, h.InTx, h.Queue, batch(n, 500))
				}
				<-done
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}

// BenchmarkBacklog measures what a task costs, from its transaction to its end,
// while another tenant has a backlog.
func BenchmarkBacklog(b *testing.B) {
	for _, waiting := range []int{5_000, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			h := harness(b, filepath.Join(b.TempDir(), "spool.db"))
			tasks := batch(0, waiting)
			for i := range tasks {
				tasks[i].Priority, tasks[i].Tenant = i%50, "large"
			}
			enqueueBench(b, h.InTx, h.Queue, tasks)
			done := make(chan struct{}, 2)
			startBench(b, h.Queue, func(_ context.Context, t queue.Task) error {
				if t.Tenant == "small" {
					done <- struct{}{}
				}
				return nil
			})
			for i := 0; b.Loop(); i++ {
				enqueueBench(b, h.InTx, h.Queue, []queue.Task{
					{Kind: queue.Audio, Video: someVideo, Number: i, Tenant: "small"},
					{Kind: queue.Encode, Video: someVideo, Number: waiting + i, Priority: i % 50, Tenant: "large"},
				})
				<-done
			}
		})
	}
}

// BenchmarkEnqueue measures a transaction that enqueues the chunks of a video.
func BenchmarkEnqueue(b *testing.B) {
	h := harness(b, filepath.Join(b.TempDir(), "spool.db"))
	for i := 0; b.Loop(); i++ {
		enqueueBench(b, h.InTx, h.Queue, batch(i*500, 500))
	}
}

func batch(first, n int) []queue.Task {
	tasks := make([]queue.Task, n)
	for i := range tasks {
		tasks[i] = queue.Task{Kind: queue.Encode, Video: someVideo, Number: first + i}
	}
	return tasks
}

func enqueueBench(b *testing.B, inTx func(context.Context, func(queue.Tx) error) error, q queue.Queue, tasks []queue.Task) {
	b.Helper()
	err := inTx(b.Context(), func(tx queue.Tx) error { return q.Enqueue(b.Context(), tx, tasks...) })
	if err != nil {
		b.Fatal(err)
	}
}

func startBench(b *testing.B, q queue.Queue, h queue.Handler) {
	b.Helper()
	if err := q.Start(b.Context(), queue.Encoding(4, h)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := q.Stop(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
}
